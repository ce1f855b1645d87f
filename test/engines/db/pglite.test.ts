import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { OperationalError } from "../../../src/engines/db/errors.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";

describe("an embedded database", () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "stoa-pglite-"));
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it("in memory begins empty each time", async () => {
    for (let i = 0; i < 2; i++) {
      const db = await openDatabase("pglite:");
      await db.execute("create table once (a int)");
      await db.close();
    }
  });

  it("in a folder keeps what was written", async () => {
    const url = `pglite:${join(folder, "kept")}`;
    const first = await openDatabase(url);
    await first.script("create table notes (text text); insert into notes values ('kept')");
    await first.close();
    const second = await openDatabase(url);
    expect(await second.fetchval("select text from notes")).toBe("kept");
    await second.close();
  });

  it.skipIf(process.platform !== "linux")("refuses a folder that is open already, and says by whom", async () => {
    const path = join(folder, "shared");
    const db = await openDatabase(`pglite:${path}`);
    await expect(openDatabase(`pglite:${path}`)).rejects.toThrow(`in ${path} is in use by this process`);
    await db.close();
    await writeFile(join(path, "stoa.lock"), `${process.ppid} `);
    const holder = openDatabase(`pglite:${path}`);
    // A number without the start of its process is that of another one, which had it before.
    await (await holder).close();
    const status = await readFile(`/proc/${process.ppid}/stat`, "utf8");
    const start = status.slice(status.lastIndexOf(")") + 2).split(" ")[19];
    await writeFile(join(path, "stoa.lock"), `${process.ppid} ${start}`);
    const error = await openDatabase(`pglite:${path}`).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OperationalError);
    expect((error as Error).message).toContain(`is in use by process ${process.ppid}`);
  });

  it("begins anew where an earlier start died half way", async () => {
    const path = join(folder, "unfinished");
    const first = await openDatabase(`pglite:${path}`);
    await first.close();
    await rm(join(path, "base"), { recursive: true });
    await writeFile(join(path, "stoa.unfinished"), "");
    const db = await openDatabase(`pglite:${path}`);
    expect(await db.fetchval("select 1")).toBe(1);
    await db.close();
    expect(await readdir(path)).not.toContain("stoa.unfinished");
  });

  it("keeps the files of a new database, and makes them again when they are damaged", async () => {
    const cache = join(folder, "cache");
    vi.stubEnv("STOA_CACHE_DIR", cache);
    const start = async (): Promise<void> => {
      const db = await openDatabase("pglite:");
      expect(await db.fetchval("select 1")).toBe(1);
      await db.close();
    };
    // Two at once, as workers start: both must work, and one complete file be left.
    await Promise.all([start(), start()]);
    const [name, ...others] = await readdir(cache);
    expect(others).toEqual([]);
    expect(name).toMatch(/^pglite-[\d.]+\.tar$/);
    const { size } = await stat(join(cache, name!));
    await writeFile(join(cache, name!), Buffer.alloc(5000));
    await start();
    expect((await stat(join(cache, name!))).size).toBe(size);
    vi.unstubAllEnvs();
  }, 120_000);

  it("lets the process end once it is closed", async () => {
    const program = `
      import { openDatabase } from ${JSON.stringify(new URL("../../../src/engines/db/open-database.ts", import.meta.url).href)};
      const db = await openDatabase("pglite:");
      console.log(await db.fetchval("select 'worked'"));
      await db.close();
    `;
    const file = join(folder, "program.mts");
    await writeFile(file, program);
    const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", file], { timeout: 60_000 });
    expect(stdout.trim()).toBe("worked");
  }, 90_000);
});
