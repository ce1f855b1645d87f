import { beforeAll, describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { ensureBuilt } from "../../scripts/setup.mjs";
import { patient } from "../server/process/program.js";
import { Project } from "./project.js";

beforeAll(() => ensureBuilt(), 120_000);

describe("stoa", patient, () => {
  it("The stoa command shows its help and its version", async () => {
    const project = await Project.create();
    const help = await project.stoa(["--help"]);
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toContain("Usage: stoa COMMAND [options]");
    expect(help.stdout).toMatch(/\n {2}migrate +bring the database/);
    expect(await project.stoa(["--version"])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: "" });
    const group = await project.run(["migrate", "--help"]);
    for (const name of ["make", "up", "down", "status", "sql", "squash", "inspect", "diff"]) {
      expect(group.stdout).toMatch(new RegExp(`\\n {2}${name} `));
      const command = await project.run(["migrate", name, "--help"]);
      expect(command).toMatchObject({ code: 0, stderr: "" });
      expect(command.stdout).toContain(`Usage: stoa migrate ${name} [options]`);
    }
  });

  it.each([
    [[], 1, /^$/],
    [["migrat"], 1, /^stoa: there is no command 'stoa migrat'; did you mean 'migrate'\?\n$/],
    [["migrate", "stats"], 1, /^stoa: there is no command 'stoa migrate stats'; did you mean 'status'\?\n$/],
    [["migrate", "up", "a", "b"], 1, /^stoa: stoa migrate up takes at most 1, not 'b'; `stoa migrate up --help` shows/],
    [["migrate", "status", "a"], 1, /^stoa: stoa migrate status takes no arguments, not 'a'/],
    [
      ["migrate", "up"],
      1,
      /^stoa: no database: give --database URL, set DATABASE_URL, or name it in stoa.config.ts\n$/,
    ],
    [
      ["migrate", "up", "--database", "mysql://me:secret@x/y"],
      1,
      /^stoa: the database URL must begin with postgres:\/\//,
    ],
    [["migrate", "up", "--database", "pglite:"], 1, /^stoa: the folder of migrations .*migrations is not there/],
    [["migrate", "make"], 1, /^stoa: no models: give --models FILE, or name them in stoa.config.ts\n$/],
    [
      ["migrate", "make", "--app", "x.ts"],
      1,
      /^stoa: unknown option '--app' of stoa migrate make: it takes --models FILE\n$/,
    ],
    [
      ["migrate", "up", "--app", "x.ts"],
      1,
      /^stoa: unknown option '--app' of stoa migrate up: it takes --database URL\n$/,
    ],
    [["migrate", "make", "--models", "x.ts"], 1, /^stoa: the module of models .*x\.ts is not there\n$/],
    [["migrate", "up", "--config", "x.ts"], 1, /^stoa: the config file .*x\.ts is not there\n$/],
    [["migrate", "down", "--steps", "0"], 1, /^stoa: --steps must be at least 1\n$/],
    [["migrate", "down", "x", "--all"], 1, /^stoa: give one of NAME, --steps and --all\n$/],
    [["migrate", "up", "a", "--to", "b"], 1, /^stoa: --to b and a: give one of them\n$/],
    [["migrate", "squash"], 1, /^stoa: stoa migrate squash needs the last migration to squash: \[FROM\] TO\n$/],
    [["migrate", "inspect", "--language", "py"], 1, /^stoa: --language must be ts or js, not "py"\n$/],
  ] as const)("The stoa command fails with one clear line: %j", async (args, code, stderr) => {
    const project = await Project.create();
    const run = await project.run(args);
    expect(run.stderr).toMatch(stderr);
    expect(run.code).toBe(code);
  });

  it("The stoa command reads its config in any of its forms, and checks it", async () => {
    const project = await Project.create({ "stoa.config.mjs": "export default { databse: 'pglite:' };" });
    expect((await project.stoa(["migrate", "up"])).stderr).toMatch(
      /^stoa: unknown option 'databse' in .*stoa\.config\.mjs; did you mean 'database'\?\n$/,
    );
    await project.write("stoa.config.mjs", "export const config = {};");
    expect((await project.stoa(["migrate", "up"])).stderr).toMatch(
      /has no default export: `export default defineConfig/,
    );
    await project.write("other/stoa.config.ts", 'export default { database: "pglite:", migrations: "changes" };');
    const run = await project.stoa(["migrate", "up", "--config", "other/stoa.config.ts"]);
    expect(run.stderr).toMatch(/^stoa: the folder of migrations .*other\/changes is not there/);
  });

  it("The stoa command names the package to install if TypeScript cannot be read", async () => {
    const project = await Project.create({ "stoa.config.ts": "export default {};" }, []);
    const run = await project.stoa(["migrate", "status"]);
    const reads = Boolean((process.features as { typescript?: unknown }).typescript);
    if (reads) expect(run.stderr).toContain("no database");
    else
      expect(run.stderr).toMatch(
        /^stoa: .*stoa\.config\.ts is TypeScript, which Node v\S+ cannot read: npm install --save-dev tsx\n$/,
      );
  });

  it('The stoa command reads TypeScript in a package without "type": "module"', async () => {
    const project = await Project.create({
      "package.json": "{}",
      "stoa.config.ts":
        'import { defineConfig } from "stoa/migrations"; export default defineConfig({ migrations: "nowhere", database: "pglite:" });',
    });
    expect((await project.stoa(["migrate", "status"])).stderr).toMatch(
      /^stoa: the folder of migrations .*nowhere is not there/,
    );
  });
});
