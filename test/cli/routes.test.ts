import { BasicAuth } from "stoa";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { ensureBuilt } from "../../scripts/setup.mjs";
import { patient } from "../server/process/program.js";
import { Project } from "./project.js";
import { makeFolder, runCommand } from "./run-command.js";

beforeAll(() => ensureBuilt(), 120_000);

const bookshop = `
export function app() {
  const app = new App();
  app.enableCors();
  app.addGuard(function isOpen() { return true; });
  app.get("/books", () => []);
  app.post("/books", { guards: [function isAdmin() { return true; }], middleware: [function timed(_, next) { return next(); }] }, () => 1);
  app.websocket("/chat", () => {});
  app.enableGraphql();
  app.graphql.query("hello", "String!", () => "hello");
  app.graphql.subscription("ticks", "Int!", async function* () {});
  app.enableGrpc().addGrpcService("shop.Books", { Find: () => ({}) });
  app.enableHealthChecks();
  app.onEvent("startup", () => { throw new Error("started"); });
  return app;
}`;

it("The routes are listed with guards, middleware and place, those of other protocols included", async () => {
  const folder = await makeFolder({ "app.mjs": bookshop });
  const { code, out, err } = await runCommand(folder, "routes", "--app", "app.mjs");
  expect([code, err]).toEqual([0, ""]);
  const lines = out.split("\n");
  expect(lines[0]).toMatch(/^METHOD +PATH +GUARDS +MIDDLEWARE +SOURCE$/);
  expect(lines[1]).toMatch(/^GET +\/books +isOpen +- +app\.mjs:6$/);
  expect(lines[2]).toMatch(/^POST +\/books +isOpen, isAdmin +timed +app\.mjs:7$/);
  expect(lines[3]).toMatch(/^WS +\/chat +isOpen +- +app\.mjs:8$/);
  expect(out).toMatch(/^POST +\/graphql +isOpen +- +-$/m);
  expect(out).toMatch(/^WS +\/graphql /m);
  expect(out).toMatch(/^GRPC +\/shop\.Books\/Find +isOpen /m);
  // A probe has no guards.
  expect(out).toMatch(/^GET +\/health\/live +- +- +-$/m);
  expect(lines.at(-2)).toMatch(/^middleware of all HTTP routes: cors$/);
  expect(out).not.toContain("\u001b");
});

it("The list as JSON has all of the middleware of each route", async () => {
  const folder = await makeFolder({ "app.mjs": bookshop });
  const { out } = await runCommand(folder, "routes", "--app", "app.mjs", "--json");
  const post = (JSON.parse(out) as { methods: string[]; path: string }[]).find(({ methods }) => methods[0] === "POST");
  expect(post).toMatchObject({
    path: "/books",
    guards: ["isOpen", "isAdmin"],
    middleware: ["cors", "timed"],
    source: "app.mjs:7",
    websocket: false,
  });
});

it("Middleware is not listed for the paths that it skips", async () => {
  Object.assign(globalThis, { BasicAuth });
  onTestFinished(() => void delete (globalThis as { BasicAuth?: unknown }).BasicAuth);
  const folder = await makeFolder({
    "app.mjs": `export const app = new App();
      app.use(new BasicAuth(() => true).skipPath("/public"));
      app.enableCsrf({ skipPaths: ["/public/hooks"] });
      for (const path of ["/books", "/public/{page}", "/public/hooks/{name}"]) app.post(path, () => "");`,
  });
  const { out, err } = await runCommand(folder, "routes", "--app", "app.mjs", "--json");
  expect(err).toBe("");
  const rows = JSON.parse(out) as { path: string; middleware: string[] }[];
  expect(Object.fromEntries(rows.map(({ path, middleware }) => [path, middleware]))).toEqual({
    "/books": ["csrf", "basic-auth"],
    "/public/{page}": ["csrf"],
    "/public/hooks/{name}": [],
  });
});

it("An application without routes says so", async () => {
  const folder = await makeFolder({ "app.mjs": "export const app = new App();" });
  expect((await runCommand(folder, "routes", "--app", "app.mjs")).out).toBe("the application has no routes\n");
});

it("The place of a route is a line of TypeScript, for a decorated method and in a blueprint too", patient, async () => {
  const project = await Project.create({
    "stoa.config.ts": 'export default { app: "src/app.ts" };',
    "src/books.ts": `
interface Shape { a: string }

import { Blueprint } from "stoa";
export const books = new Blueprint("/books");
export class Books {
  name: string = "books";

  @books.get("/{id}")
  one(): Shape { return { a: this.name }; }
}`,
    "src/app.ts": `
import { App } from "stoa";
import { Books, books } from "./books.js";
interface Unused { a: string; }

new Books();
export default new App().registerBlueprint(books).get("/", () => "home");`,
  });
  const { stdout, stderr, code } = await project.stoa(["routes"]);
  expect([stderr, code]).toEqual(["", 0]);
  expect(stdout).toMatch(/^GET +\/ +- +- +src\/app\.ts:7$/m);
  expect(stdout).toMatch(/^GET +\/books\/\{id\} +- +- +src\/books\.ts:9$/m);
});
