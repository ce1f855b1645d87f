import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readPages } from "../docs/pages.js";
import { isLong } from "../support/long.js";
import { compileConsumer, folderOfPage, writeConsumer } from "./consumer.js";

const pages = (await readPages()).filter(({ modules }) => modules.length > 0);
const applications = (await readdir(join(import.meta.dirname, "apps"))).map((name) => name.replace(/\.ts$/, ""));
const places = ["test/package/apps", "examples", ...(isLong ? ["test/types"] : [])];
let folder: string;
let errors: string[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "stoa-consumer-"));
  await writeConsumer(folder);
  errors = await compileConsumer(folder);
}, 600_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

describe("code that imports the installed package", { timeout: 300_000 }, () => {
  it.each(places)("The code in %s compiles against the package", (place) => {
    expect(errorsIn(place)).toEqual([]);
  });

  it.each(pages.map(({ path }) => path))("The code of %s compiles against the package", (path) => {
    const { modules } = pages.find((page) => page.path === path)!;
    const found = modules.flatMap(({ name, lines }) =>
      errorsIn(join(folderOfPage(path), name)).map((error) => {
        const [, line, text] = /^[^(]*\((\d+),\d+\): (.*)$/s.exec(error) ?? [];
        return `${path}:${lines[Number(line) - 1]}: ${text}`;
      }),
    );
    expect(found).toEqual([]);
  });

  it("No file outside of those has an error", () => {
    expect(errors.filter((error) => !/^(?:pages|examples|test)\//.test(error))).toEqual([]);
  });

  it.each(isLong ? applications : applications.slice(0, 1))(
    "The application %s runs with the package",
    async (name) => {
      const { stdout } = await promisify(execFile)(process.execPath, [`built/test/package/apps/${name}.js`], {
        cwd: folder,
      });
      expect(stdout).toContain(`${name}: ok`);
    },
  );
});

function errorsIn(place: string): string[] {
  return errors.filter((error) => error.startsWith(place));
}
