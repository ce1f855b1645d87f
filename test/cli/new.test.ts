import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { commands } from "../../src/cli/commands.js";
import { runCli } from "../../src/cli/run-cli.js";

interface Printed {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `stoa new` in a folder; with answers a person sits at the terminal. */
async function create(cwd: string, given: readonly string[], answers?: string[], path?: string): Promise<Printed> {
  let [out, err] = ["", ""];
  const terminal = {
    print: (text: string) => void (out += `${text}\n`),
    note: (text: string) => void (err += `${text}\n`),
    interactive: answers !== undefined,
    async ask<T>(question: string, read: (answer: string) => T): Promise<T> {
      err += `${question}\n`;
      return read(answers!.shift()!);
    },
  };
  const env = { ...process.env, ...(path !== undefined && { PATH: path }) };
  const code = await runCli(["new", ...given], commands, { terminal, cwd, env, signal: AbortSignal.timeout(120_000) });
  return { code, out, err };
}

const bare = ["--no-install", "--no-git"];

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "stoa-new-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A folder with programs of these names, to be the PATH. */
async function makePrograms(programs: Readonly<Record<string, string>>): Promise<string> {
  const folder = await makeFolder();
  for (const [name, text] of Object.entries(programs)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`);
    await chmod(join(folder, name), 0o755);
  }
  return folder;
}

describe("stoa new", () => {
  it("A new application has the name of its folder, dotfiles, and three commands to go on with", async () => {
    const cwd = await makeFolder();
    expect(await create(cwd, ["shop", "--template", "saas", ...bare])).toEqual({
      code: 0,
      out: "created shop from the template saas\nnext:\n  cd shop\n  npm install\n  npm run dev\n",
      err: "",
    });
    const files = await readdir(join(cwd, "shop"));
    expect(files).toEqual(expect.arrayContaining([".gitignore", ".dockerignore", ".env.example", ".github", "src"]));
    expect(files.filter((name) => name.startsWith("_"))).toEqual([]);
    expect(JSON.parse(await readFile(join(cwd, "shop/package.json"), "utf8")).name).toBe("shop");
    for (const file of ["README.md", "AGENTS.md", "src/app.ts"]) {
      const text = await readFile(join(cwd, "shop", file), "utf8");
      expect([file, text.includes("shop"), text.includes("my-app")]).toEqual([file, true, false]);
    }
  });

  it("A folder that is not empty is refused and left as it is", async () => {
    const cwd = join(await makeFolder(), "shop");
    await mkdir(cwd);
    await writeFile(join(cwd, "notes.txt"), "mine");
    const { code, err } = await create(cwd, [".", ...bare]);
    expect([code, err]).toEqual([1, `stoa: ${cwd} is not empty: it contains notes.txt\n`]);
    expect(await readdir(cwd)).toEqual(["notes.txt"]);
    expect((await create(cwd, ["notes.txt", ...bare])).err).toMatch(/^stoa: .* cannot be the folder of an application/);
  });

  it("An empty repository becomes the application", async () => {
    const cwd = await makeFolder();
    await mkdir(join(cwd, "shop/.git"), { recursive: true });
    const { code, out } = await create(join(cwd, "shop"), [".", ...bare]);
    expect([code, out]).toEqual([
      0,
      "created shop from the template api\nnext:\n  npm install\n  npm run dev\n  npm test\n",
    ]);
  });

  it.each([
    [["My App"], "'My App' cannot be the name of a package: use small letters, digits and '-', for example my-app"],
    [["stoa"], "'stoa' cannot be the name of a package: use small letters, digits and '-', for example my-app"],
    [["shop", "--template", "sass"], "there is no template 'sass', only api, saas, events; did you mean 'saas'?"],
    [[], "name the folder of the application, for example my-app; --yes takes that name"],
    [["a", "b"], "stoa new takes at most 1, not 'b'; `stoa new --help` shows its options"],
  ])("The arguments %j are refused with their cure", async (given, message) => {
    const cwd = await makeFolder();
    expect(await create(cwd, [...given, ...bare])).toEqual({ code: 1, out: "", err: `stoa: ${message}\n` });
    expect(await readdir(cwd)).toEqual([]);
  });

  it("On a terminal the folder and the template are asked for, unless they are given or --yes is", async () => {
    const cwd = await makeFolder();
    const asked = await create(cwd, bare, ["shop", "events"]);
    expect(asked.out).toContain("created shop from the template events");
    expect(asked.err.split("\n")).toEqual([
      "Folder of the application (my-app):",
      "  api     an HTTP API: validation, OpenAPI, settings, tests",
      "  saas    accounts with tokens, models and migrations, a job, rate limits",
      "  events  orders with event sourcing, a saga, an outbox and a message broker",
      "Template (api):",
      "",
    ]);
    expect((await create(cwd, ["one", "--template", "api", ...bare], [])).code).toBe(0);
    expect((await create(cwd, ["--yes", ...bare], [])).out).toContain("created my-app from the template api");
  });

  it("Packages are installed in the folder, and git is started there unless it is in a repository", async () => {
    const cwd = await makeFolder();
    const log = 'echo "$(basename "$0") $* in $(pwd)" >> "$LOG"';
    const programs = { npm: log, git: `${log}\n[ "$1" = init ]` };
    process.env["LOG"] = join(cwd, "log");
    onTestFinished(() => void delete process.env["LOG"]);
    const path = `${await makePrograms(programs)}:${process.env["PATH"]}`;
    expect((await create(cwd, ["shop"], undefined, path)).out).toContain(
      "next:\n  cd shop\n  npm run dev\n  npm test\n",
    );
    const lines = (text: string): string[] => text.trimEnd().split("\n");
    expect(lines(await readFile(join(cwd, "log"), "utf8"))).toEqual(
      ["git rev-parse", "git init --quiet", "npm install --no-audit --no-fund"].map(
        (call) => `${call} in ${join(cwd, "shop")}`,
      ),
    );
    const inRepository = `${await makePrograms({ ...programs, git: log })}:${process.env["PATH"]}`;
    await create(cwd, ["second"], undefined, inRepository);
    expect(await readFile(join(cwd, "log"), "utf8")).not.toContain(`init --quiet in ${join(cwd, "second")}`);
  });

  it("A failed installation leaves the files and has the exit code 1", async () => {
    const cwd = await makeFolder();
    const path = await makePrograms({ npm: "echo 'no network' >&2; exit 7" });
    const { code, err } = await create(cwd, ["shop"], undefined, path);
    expect([code, err]).toEqual([
      1,
      "no git repository was created: git did not run\ninstalling packages ...\n" +
        `stoa: npm install failed; the files are in ${join(cwd, "shop")}, run it there again: no network\n`,
    ]);
    expect(await readdir(join(cwd, "shop"))).toContain("package.json");
  });
});
