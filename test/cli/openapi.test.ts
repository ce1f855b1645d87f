import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeFolder, runCommand } from "./run-command.js";

const bookshop = `
export const app = () => {
  const app = new App().enableOpenapi("Bookshop", "2.0.0");
  app.get("/books", { summary: globalThis.summary }, () => []);
  if (globalThis.second) app.get("/a~b/c", () => []);
  return app;
};`;

it("The document is printed, and written to a file", async () => {
  const folder = await makeFolder({ "app.mjs": bookshop });
  const printed = await runCommand(folder, "openapi", "--app", "app.mjs");
  expect(printed.code).toBe(0);
  expect(JSON.parse(printed.out)).toMatchObject({ info: { title: "Bookshop", version: "2.0.0" } });
  const written = await runCommand(folder, "openapi", "--app", "app.mjs", "--out", "openapi.json");
  expect(written).toEqual({ code: 0, out: "", err: "wrote openapi.json\n" });
  expect(await readFile(join(folder, "openapi.json"), "utf8")).toBe(printed.out);
});

it("A file that differs is refused with the first differences and the cure", async () => {
  const folder = await makeFolder({ "app.mjs": bookshop });
  const check = () => runCommand(folder, "openapi", "--app", "app.mjs", "--check", "openapi.json");
  expect((await check()).err).toMatch(/openapi\.json cannot be read: write it with `stoa openapi --out openapi\.json`/);
  await runCommand(folder, "openapi", "--app", "app.mjs", "--out", "openapi.json");
  // The layout and the order of keys are no difference.
  const { openapi, ...rest } = JSON.parse(await readFile(join(folder, "openapi.json"), "utf8"));
  await writeFile(join(folder, "openapi.json"), JSON.stringify({ ...rest, openapi }));
  expect(await check()).toEqual({ code: 0, out: "", err: "openapi.json is up to date\n" });

  Object.assign(globalThis, { summary: "All books", second: true });
  const { code, out, err } = await check().finally(() => {
    Object.assign(globalThis, { summary: undefined, second: undefined });
  });
  expect(code).toBe(1);
  expect(out.split("\n").sort()).toEqual(
    ["", "+ /paths/~1a~0b~1c", expect.stringMatching(/\/paths\/~1books\/get\/summary/)].sort(),
  );
  expect(err).toBe("stoa: openapi.json is out of date: write it with `stoa openapi --out openapi.json`\n");

  await writeFile(join(folder, "openapi.json"), "openapi: 3.1.0");
  expect((await check()).err).toMatch(/openapi\.json is no JSON: write it with/);
  const both = await runCommand(folder, "openapi", "--out", "a", "--check", "b");
  expect(both.err).toBe("stoa: --out and --check: give one of them\n");
});
