import { existsSync } from "node:fs";
import { mkdir, readdir, rename } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { ensureBuilt } from "../../scripts/setup.mjs";
import { isAlive, get as request, until } from "../server/process/program.js";
import { Project, type Run } from "./project.js";

beforeAll(() => ensureBuilt(), 120_000);

/** Each starts many processes, which load TypeScript. */
const slow = { timeout: 600_000 };

const config = `import { defineConfig } from "stoa/migrations";
export default defineConfig({ app: "./src/app.ts", models: "./src/models.ts", database: "pglite:./data", client: "web/api.ts" });`;
const models = `import { field, Model } from "stoa/orm";
export class Book extends Model("books", { id: field.auto(), title: field.char({ maxLength: 200 }) }) {}`;
const appWith = (routes: string): string => `import { App } from "stoa";
import { Book } from "./models.js";
export default function createApp(): App {
  const app = new App();
  app.enableDatabase("pglite:./data");
  app.enableOpenapi();
  app.get("/pid", () => String(process.pid));
  app.post("/books", async () => ({ id: (await Book.objects.create({ title: "Emma" })).id }));
  app.get("/books", () => Book.objects.orderBy("id"));
${routes}
  return app;
}`;

describe("stoa dev", slow, () => {
  it("The command serves the application and serves each change of it at the same address", async () => {
    const project = await Project.create({ "src/app.ts": greeting("one") });
    const dev = project.start(["dev", "--app", "src/app.ts", "--port", "0"]);
    const url = await urlOf(dev);
    expect((await request(url)).text).toBe("one");
    await save(project, "src/app.ts", greeting("two"));
    await until(async () => (await get(url)).text === "two");
    await until(() => /^stoa: ready again after [\d.]+ s: src\/app\.ts changed$/m.test(dev.stdout));
    expect(await stop(dev)).toBe(0);
  });

  it("An error in the code is shown once, with its place, and the next change starts the application again", async () => {
    const project = await Project.create({ "src/app.ts": greeting("one") });
    const dev = project.start(["dev", "--app", "src/app.ts", "--port", "0"]);
    const url = await urlOf(dev);
    await save(project, "src/app.ts", `const n: number = 1;\nmissing(n);\n${greeting("two")}`);
    await until(async () => (await get(url)).status === 503);
    const place = "ReferenceError: missing is not defined (";
    const { text } = await request(url);
    expect(text).toContain(place);
    expect(text).toMatch(/src\/app\.ts:2:1\)/);
    expect(dev.stderr.split(place)).toHaveLength(2);
    await save(project, "src/app.ts", "export const app = ;");
    await dev.tells("app.ts:1:19: ERROR: Unexpected");
    await save(project, "src/app.ts", greeting("three"));
    await until(async () => (await get(url)).text === "three");
    expect(await stop(dev)).toBe(0);
  });

  it("A wrong option is shown with its line of the source, to clients too", async () => {
    const project = await Project.create({ "src/app.ts": greeting("one") });
    const dev = project.start(["dev", "--app", "src/app.ts", "--port", "0"]);
    const url = await urlOf(dev);
    await save(
      project,
      "src/app.ts",
      `interface Unused { a: string }\n${greeting("two")}\napp.enableCors({ orgins: 1 });`,
    );
    await until(async () => (await get(url)).text.includes("did you mean 'origins'?"));
    const { text } = await request(url);
    expect(text).toMatch(/src\/app\.ts:5:5\)\n/);
    expect(text).toContain("\n>    5 | app.enableCors({ orgins: 1 });\n       |     ^\n");
    await dev.tells(">    5 | app.enableCors({ orgins: 1 });");
    expect(await stop(dev)).toBe(0);
  });

  it("A rejection that nobody handles ends the start: no address is announced after it", async () => {
    const project = await Project.create({
      "src/app.ts": `${greeting("one")}
app.onEvent("startup", async () => {
  Promise.reject(new Error("mail is down"));
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
});`,
    });
    const dev = project.start(["dev", "--app", "src/app.ts", "--port", "0"]);
    await until(() => dev.stdout.includes("it starts again when a file changes"));
    expect(dev.stdout).toContain("unhandled rejection: the start ends, and the process exits");
    expect(dev.stdout).toContain("mail is down");
    expect(dev.stdout).not.toContain("listening");
    expect(await stop(dev)).toBe(0);
  });

  it("Without an application the command ends, and says where it looked and what helps", async () => {
    const project = await Project.create();
    const run = async (): Promise<string> => {
      const { code, stderr } = await project.stoa(["dev"]);
      expect(code).toBe(1);
      return stderr;
    };
    expect(await run()).toMatch(/no application: give --app FILE, .* \(there is no stoa\.config\.ts in .*\)/);
    await project.write("src/app.ts", greeting("one"));
    expect(await run()).toContain("give --app src/app.ts,");
  });

  it("An error at the first start waits for a change too, and one of the command line does not", async () => {
    const project = await Project.create({ "src/app.ts": "missing();" });
    const dev = project.start(["dev", "--app", "src/app.ts", "--port", "0"]);
    await dev.tells("missing is not defined");
    await save(project, "src/app.ts", greeting("mended"));
    const url = await urlOf(dev);
    expect((await request(url)).text).toBe("mended");
    const taken = project.start(["dev", "--app", "src/app.ts", "--port", new URL(url).port]);
    expect(await taken.end()).toMatchObject({ code: 1, stderr: expect.stringContaining("is already in use") });
    expect(await stop(dev)).toBe(0);
  });

  it("An embedded database stays open for restarts and commands, and the client is kept up to date", async () => {
    const project = await Project.create(
      { "stoa.config.ts": config, "src/models.ts": models, "src/app.ts": appWith("") },
      ["tsx", "@electric-sql"],
    );
    await mkdir(`${project.folder}/tmp`);
    const dev = project.start(["dev", "--port", "0"], { TMPDIR: `${project.folder}/tmp` });
    const url = await urlOf(dev);
    // The folder is in use: the command goes through the process that has it open.
    expect(await project.stoa(["migrate", "make"])).toMatchObject({ code: 0 });
    expect(await project.stoa(["migrate", "up"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("applied 0001_initial"),
    });
    const post = (): Promise<string> =>
      fetch(`${url}/books`, { method: "POST" }).then(
        (response) => response.text(),
        () => "",
      );
    await until(async () => (await post()).startsWith('{"id":'));
    const pidOf = async (): Promise<string> => {
      let pid = "";
      await until(async () => (pid = (await get(`${url}/pid`)).text) !== "");
      return pid;
    };
    const pid = await pidOf();
    await until(async () => (await project.read("web/api.ts").catch(() => "")).includes('"/books"'));

    await save(project, "src/app.ts", appWith('  app.get("/more", () => "more");'));
    await until(async () => (await get(`${url}/more`)).text === "more");
    const next = await pidOf();
    expect(next).not.toBe(pid);
    await until(async () => (await get(`${url}/books`)).text.includes('{"id":1,"title":"Emma"}'));
    await until(async () => (await project.read("web/api.ts")).includes('"/more"'));
    // A change of the client would have been seen before this one, and would have started the program once more.
    await save(project, "src/other.ts", "export {};");
    await until(async () => (await pidOf()) !== next);
    expect(dev.stdout).not.toContain("web/api.ts changed");

    const last = await pidOf();
    expect(await stop(dev)).toBe(0);
    expect(isAlive(last)).toBe(false);
    expect(existsSync(`${project.folder}/data/pgdata/PG_VERSION`)).toBe(true);
    expect((await readdir(`${project.folder}/data`)).filter((name) => name.startsWith("stoa.lock"))).toEqual([]);
    expect((await readdir(`${project.folder}/tmp`)).filter((name) => name.startsWith("stoa-kept-"))).toEqual([]);
    expect(await project.stoa(["migrate", "status"])).toMatchObject({ code: 0 });
  });
});

const greeting = (text: string): string => `import { App } from "stoa";
export const app = new App();
app.get("/", () => "${text}");`;

/** The response; on a slow machine the old program can end before it responds. */
function get(url: string): Promise<{ status: number; text: string }> {
  return request(url).catch(() => ({ status: 0, text: "" }));
}

/** Changes a file in one step, so that it is seen as one change. */
async function save(project: Project, name: string, text: string): Promise<void> {
  await project.write(`${name}.new`, text);
  await rename(`${project.folder}/${name}.new`, `${project.folder}/${name}`);
}

async function urlOf(dev: Run): Promise<string> {
  let url: string | undefined;
  await until(
    () => (url = /listening on (\S+)/.exec(dev.stdout)?.[1]) !== undefined || dev.child.exitCode !== null,
    () => `the address in\n${dev.stdout}\n${dev.stderr}`,
  );
  if (url === undefined) throw new Error(`ended without an address:\n${dev.stdout}\n${dev.stderr}`);
  return url;
}

async function stop(dev: Run): Promise<number | null> {
  dev.child.kill("SIGINT");
  return (await dev.end()).code;
}
