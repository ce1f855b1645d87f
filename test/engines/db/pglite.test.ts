import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Database } from "../../../src/engines/db/database.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { type DataFolder, takeFolder } from "../../../src/engines/db/pglite/data-folder.js";
import type { PgliteModule } from "../../../src/engines/db/pglite/pglite-module.js";
import { freshDatabase } from "../../../src/engines/db/pglite/template.js";
import { ValueError } from "../../../src/kit/value-error.js";
import { compiled } from "../../support/compiled.js";
import { isLong } from "../../support/long.js";

describe("an embedded database", () => {
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "stoa-pglite-"));
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it("A database in memory begins empty each time", async () => {
    for (let i = 0; i < 2; i++) {
      const db = await openDatabase("pglite:");
      await db.execute("create table once (a int)");
      await db.close();
    }
  });

  describe("in a folder", () => {
    let path: string;
    let db: Database;

    beforeAll(async () => {
      path = join(folder, "kept");
      await mkdir(join(path, "lost+found"), { recursive: true });
      await writeFile(join(path, ".gitkeep"), "");
      const first = await openDatabase(`pglite:${path}`);
      await first.script("create table notes (text text); insert into notes values ('kept')");
      await first.close();
    });

    afterAll(() => db?.close());

    it("A folder with only the files of Git and the file system is accepted", async () => {
      expect((await readdir(path)).sort()).toEqual([".gitkeep", "lost+found", "pgdata"]);
    });

    it("A database in a folder keeps its rows, whatever lock an ended process or an earlier version left", async () => {
      await writeFile(join(path, "stoa.lock"), `${process.ppid} 17`);
      db = await openDatabase(`pglite:${path}`);
      expect(await db.fetchval("select text from notes")).toBe("kept");
    });

    it("A folder that is already open is refused with an error that names the process, also from another container", async () => {
      const here = `process ${process.pid} on ${hostname()}`;
      await expect(openDatabase(`pglite:${path}`)).rejects.toThrow(`in ${path} is in use by ${here}`);
      const file = join(folder, "second.mts");
      await writeFile(
        file,
        `import { openDatabase } from ${JSON.stringify(sourceOf("open-database.ts"))};
        await openDatabase(${JSON.stringify(`pglite:${path}`)}).then(
          () => console.log(process.pid, "opened"),
          (error) => console.log(process.pid, error.message),
        );
        process.exit();`,
      );
      const run = promisify(execFile);
      const { stdout } = await run(process.execPath, [compiled(file)]);
      expect(stdout).toContain(`is in use by ${here}`);
      // A container has its own numbers of processes, and 1 is the first of each.
      const container = await run("unshare", ["--pid", "--fork", process.execPath, compiled(file)]).catch(() => null);
      if (container === null) return;
      expect(container.stdout).toMatch(/^1 .* is in use by /);
    });

    it("Of many that open a folder at once, one gets it", async () => {
      const many = join(folder, "many");
      const results = await Promise.allSettled(Array.from({ length: 8 }, () => take(many)));
      const taken = results.filter((result) => result.status === "fulfilled").map(({ value }) => value);
      expect(taken).toHaveLength(1);
      await taken[0]!.release();
      expect(await readdir(many)).toEqual([]);
    });

    it("A folder with a long name is locked too", async () => {
      const long = join(folder, "x".repeat(120));
      const first = await take(long);
      await expect(take(long)).rejects.toThrow("is in use by");
      await first.release();
      await (await take(long)).release();
    });
  });

  it("A folder with other files is refused, and none of them is changed", async () => {
    const path = join(folder, "project");
    await mkdir(join(path, "src"), { recursive: true });
    await writeFile(join(path, "src", "app.ts"), "source");
    await writeFile(join(path, "package.json"), "{}");
    const before = await readdir(path, { recursive: true });
    const error = await openDatabase(`pglite:${path}`).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ValueError);
    expect((error as Error).message).toBe(
      `the folder ${path} holds files that are not of an embedded database (package.json, src): ` +
        "give the database its own folder, such as pglite:./data",
    );
    expect(await readdir(path, { recursive: true })).toEqual(before);
  });

  it("A folder that an earlier version left unfinished is refused, and none of its files is removed", async () => {
    const path = join(folder, "unfinished");
    await mkdir(path);
    await writeFile(join(path, "stoa.unfinished"), "");
    await writeFile(join(path, "notes.txt"), "mine");
    await expect(openDatabase(`pglite:${path}`)).rejects.toThrow("Remove the folder if nothing in it is yours");
    expect(await readFile(join(path, "notes.txt"), "utf8")).toBe("mine");
  });

  it("A path that is a file is refused", async () => {
    const path = join(folder, "file");
    await writeFile(path, "mine");
    await expect(openDatabase(`pglite:${path}`)).rejects.toThrow(`the folder ${path} for the embedded database cannot`);
    expect(await readFile(path, "utf8")).toBe("mine");
  });

  it("A cluster that PGlite made directly in the folder is used", async () => {
    const path = join(folder, "direct");
    // The files of a new cluster are kept: to make them takes PGlite several seconds.
    const pglite = await PGlite.create({
      dataDir: path,
      loadDataDir: await freshDatabase({ PGlite } as unknown as PgliteModule),
    });
    await pglite.exec("create table made (by text); insert into made values ('PGlite')");
    await pglite.close();
    const db = await openDatabase(`pglite:${path}`);
    expect(await db.fetchval("select by from made")).toBe("PGlite");
    await db.close();
  });

  describe("kills during the first start", () => {
    const moments: Readonly<Record<string, (names: readonly string[]) => boolean>> = {
      "once the lock is taken": (names) => names.some((name) => name.startsWith("stoa.lock")),
      "once a folder for the cluster is made": (names) => names.some((name) => name.startsWith("pgdata")),
      "once the first files are written": (names) => names.some((name) => /^pgdata[^/]*\/PG_VERSION$/.test(name)),
      "once most files are written": (names) => names.length > 500,
      "once the cluster is complete": (names) => names.includes("pgdata"),
    };
    const left = (moment: string): string => join(folder, `killed ${moment}`);

    // One process opens a folder. It is stopped at each moment, and the folder is copied as a kill would leave it.
    beforeAll(async () => {
      const path = join(folder, "killed");
      const file = join(folder, "killed.mts");
      await writeFile(
        file,
        `import { openDatabase } from ${JSON.stringify(sourceOf("open-database.ts"))};
        const db = await openDatabase(${JSON.stringify(`pglite:${path}`)});
        await db.execute("create table opened (a int)");
        setInterval(() => {}, 1000);`,
      );
      const child = spawn(process.execPath, [compiled(file)], { stdio: "ignore" });
      const ended = once(child, "exit");
      try {
        for (const [moment, condition] of Object.entries(moments)) {
          for (;;) {
            const names = await readdir(path, { recursive: true }).catch(() => []);
            if (condition(names)) break;
            if (child.exitCode !== null) throw new Error("the process has ended by itself");
            await new Promise((resolve) => setTimeout(resolve, 1));
          }
          child.kill("SIGSTOP");
          await promisify(execFile)("cp", ["-a", path, left(moment)]);
          child.kill("SIGCONT");
        }
      } finally {
        child.kill("SIGKILL");
        await ended;
      }
      await promisify(execFile)("cp", ["-a", left("once the first files are written"), left("with other files")]);
    });

    const tested = isLong ? Object.keys(moments) : ["once most files are written"];
    it.each(tested)(
      "A kill during the first start lets the next start work and leave no other files: %s",
      async (moment) => {
        const db = await openDatabase(`pglite:${left(moment)}`);
        expect(await db.fetchval("select 1")).toBe(1);
        await db.close();
        expect(await readdir(left(moment))).toEqual(["pgdata"]);
      },
      120_000,
    );

    it("Files that were added after a kill during the first start are kept", async () => {
      const path = left("with other files");
      await writeFile(join(path, "app.ts"), "source");
      await expect(openDatabase(`pglite:${path}`)).rejects.toThrow("holds files that are not of an embedded database");
      expect(await readFile(join(path, "app.ts"), "utf8")).toBe("source");
    });
  });

  it("The files of a new database are cached, and made again if the cache is damaged", async () => {
    const cache = join(folder, "cache");
    vi.stubEnv("STOA_CACHE_DIR", cache);
    const start = async (): Promise<void> => {
      const db = await openDatabase("pglite:");
      expect(await db.fetchval("select 1")).toBe(1);
      await db.close();
    };
    await mkdir(cache);
    const name = await nameOfTemplate();
    await writeFile(join(cache, name), Buffer.alloc(5000));
    // Two at once, as workers start: both must work, and one complete file be left.
    await Promise.all([start(), start()]);
    expect(await readdir(cache)).toEqual([name]);
    expect((await stat(join(cache, name))).size).toBeGreaterThan(1_000_000);
    vi.unstubAllEnvs();
  });

  it("The process can end once its embedded database is closed", async () => {
    const program = `
      import { openDatabase } from ${JSON.stringify(sourceOf("open-database.ts"))};
      const db = await openDatabase("pglite:");
      console.log(await db.fetchval("select 'worked'"));
      await db.close();
    `;
    const file = join(folder, "program.mts");
    await writeFile(file, program);
    const { stdout } = await promisify(execFile)(process.execPath, [compiled(file)], { timeout: 60_000 });
    expect(stdout.trim()).toBe("worked");
  });
});

/** The file in the cache that holds the files of a new database. */
async function nameOfTemplate(): Promise<string> {
  const program = createRequire(import.meta.url).resolve("@electric-sql/pglite");
  const { version } = JSON.parse(await readFile(join(dirname(program), "..", "package.json"), "utf8"));
  return `pglite-${version}.tar`;
}

function sourceOf(name: string): string {
  return fileURLToPath(new URL(`../../../src/engines/db/${name}`, import.meta.url));
}

async function take(folder: string): Promise<DataFolder> {
  return (await takeFolder(folder)) as DataFolder;
}
