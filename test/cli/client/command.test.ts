import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { makeFolder, runCommand } from "../run-command.js";

const app = `
export const app = () => {
  const app = new App();
  app.get("/books", { summary: globalThis.summary }, () => []);
  return app;
};`;

it("The client is printed, and written to a file", async () => {
  const folder = await makeFolder({ "app.mjs": app });
  const printed = await runCommand(folder, "client", "--app", "app.mjs");
  expect(printed).toMatchObject({ code: 0, err: "", out: expect.stringContaining('"/books": {') });
  const written = await runCommand(folder, "client", "--app", "app.mjs", "--out", "api.ts");
  expect(written).toEqual({ code: 0, out: "", err: "wrote api.ts\n" });
  expect(await readFile(join(folder, "api.ts"), "utf8")).toBe(printed.out);
});

it("A client that is out of date is refused with the cure, and stays as it is", async () => {
  const folder = await makeFolder({ "app.mjs": app });
  const check = () => runCommand(folder, "client", "--app", "app.mjs", "--out", "api.ts", "--check");
  expect((await check()).err).toMatch(/api\.ts cannot be read: write it with `stoa client --out api\.ts`/);
  const { out } = await runCommand(folder, "client", "--app", "app.mjs");
  // The line breaks of Windows are no difference.
  await writeFile(join(folder, "api.ts"), out.replaceAll("\n", "\r\n"));
  expect(await check()).toEqual({ code: 0, out: "", err: "api.ts is up to date\n" });

  Object.assign(globalThis, { summary: "All books" });
  const changed = await check().finally(() => Object.assign(globalThis, { summary: undefined }));
  const err = "stoa: api.ts is out of date: write it with `stoa client --out api.ts`\n";
  expect(changed).toEqual({ code: 1, out: "", err });
  expect(await readFile(join(folder, "api.ts"), "utf8")).toBe(out.replaceAll("\n", "\r\n"));

  const alone = await runCommand(folder, "client", "--app", "app.mjs", "--check");
  expect(alone).toMatchObject({ code: 1, err: "stoa: --check needs the file to compare: --out FILE --check\n" });
});
