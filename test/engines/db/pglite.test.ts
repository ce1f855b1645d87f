import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { OperationalError } from "../../../src/engines/db/errors.js";
import { openDatabase } from "../../../src/engines/db/open-database.js";
import { ValueError } from "../../../src/internal/value-error.js";

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

  it("A database in a folder keeps its rows", async () => {
    const url = `pglite:${join(folder, "kept")}`;
    const first = await openDatabase(url);
    await first.script("create table notes (text text); insert into notes values ('kept')");
    await first.close();
    const second = await openDatabase(url);
    expect(await second.fetchval("select text from notes")).toBe("kept");
    await second.close();
  });

  it.skipIf(process.platform !== "linux")(
    "A folder that is already open is refused with an error that names the process",
    async () => {
      const path = join(folder, "shared");
      const db = await openDatabase(`pglite:${path}`);
      await expect(openDatabase(`pglite:${path}`)).rejects.toThrow(`in ${path} is in use by this process`);
      await db.close();
      await writeFile(join(path, "stoa.lock"), `${process.ppid} `);
      // A number without the start of its process belongs to an earlier process.
      await (await openDatabase(`pglite:${path}`)).close();
      const status = await readFile(`/proc/${process.ppid}/stat`, "utf8");
      const start = status.slice(status.lastIndexOf(")") + 2).split(" ")[19];
      await writeFile(join(path, "stoa.lock"), `${process.ppid} ${start}`);
      const error = await openDatabase(`pglite:${path}`).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(OperationalError);
      expect((error as Error).message).toContain(`is in use by process ${process.ppid}`);
    },
  );

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
        "give the database a folder of its own, such as pglite:./data",
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

  it("A folder with only the files of Git and the file system is accepted", async () => {
    const path = join(folder, "mounted");
    await mkdir(join(path, "lost+found"), { recursive: true });
    await writeFile(join(path, ".gitkeep"), "");
    const db = await openDatabase(`pglite:${path}`);
    await db.close();
    expect((await readdir(path)).sort()).toEqual([".gitkeep", "lost+found", "pgdata"]);
  });

  it("A path that is a file is refused", async () => {
    const path = join(folder, "file");
    await writeFile(path, "mine");
    await expect(openDatabase(`pglite:${path}`)).rejects.toThrow(`the folder ${path} for the embedded database cannot`);
    expect(await readFile(path, "utf8")).toBe("mine");
  });

  it("A cluster that PGlite made directly in the folder is used", async () => {
    const path = join(folder, "direct");
    const pglite = await PGlite.create({ dataDir: path });
    await pglite.exec("create table made (by text); insert into made values ('PGlite')");
    await pglite.close();
    const db = await openDatabase(`pglite:${path}`);
    expect(await db.fetchval("select by from made")).toBe("PGlite");
    await db.close();
  }, 60_000);

  describe("kills during the first start", () => {
    /** Starts a process that opens the folder, and kills it as soon as the folder satisfies a condition. */
    const killWhen = async (path: string, condition: (names: readonly string[]) => boolean): Promise<void> => {
      const file = join(folder, `${basename(path)}.mts`);
      const source = new URL("../../../src/engines/db/open-database.ts", import.meta.url).href;
      await writeFile(
        file,
        `import { openDatabase } from ${JSON.stringify(source)};
        const db = await openDatabase(${JSON.stringify(`pglite:${path}`)});
        await db.execute("create table opened (a int)");
        setInterval(() => {}, 1000);`,
      );
      const child = spawn(process.execPath, ["--import", "tsx", file], { stdio: "ignore" });
      const ended = once(child, "exit");
      try {
        for (;;) {
          const names = await readdir(path, { recursive: true }).catch(() => []);
          if (condition(names)) break;
          if (child.exitCode !== null) throw new Error("the process has ended by itself");
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      } finally {
        child.kill("SIGKILL");
        await ended;
      }
    };

    const moments: Readonly<Record<string, (names: readonly string[]) => boolean>> = {
      "once the lock is taken": (names) => names.includes("stoa.lock"),
      "once a folder for the cluster is made": (names) => names.some((name) => name.startsWith("pgdata")),
      "once the first files are written": (names) => names.some((name) => /^pgdata[^/]*\/PG_VERSION$/.test(name)),
      "once most files are written": (names) => names.length > 500,
      "once the cluster is complete": (names) => names.includes("pgdata"),
    };

    it.each(Object.keys(moments))(
      "A kill during the first start lets the next start work and leave no other files: %s",
      async (moment) => {
        const path = join(folder, `killed ${moment}`);
        await killWhen(path, moments[moment]!);
        const db = await openDatabase(`pglite:${path}`);
        await db.script("create table if not exists notes (text text); insert into notes values ('kept')");
        await db.close();
        expect(await readdir(path)).toEqual(["pgdata"]);
        const again = await openDatabase(`pglite:${path}`);
        expect(await again.fetchval("select text from notes")).toBe("kept");
        await again.close();
      },
      120_000,
    );

    it("Files that were added after a kill during the first start are kept", async () => {
      const path = join(folder, "killed with other files");
      await killWhen(path, (names) => names.some((name) => name.startsWith("pgdata")));
      await writeFile(join(path, "app.ts"), "source");
      await expect(openDatabase(`pglite:${path}`)).rejects.toThrow("holds files that are not of an embedded database");
      expect(await readFile(join(path, "app.ts"), "utf8")).toBe("source");
    }, 120_000);
  });

  it("The files of a new database are cached, and made again if the cache is damaged", async () => {
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

  it("The process can end once its embedded database is closed", async () => {
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
