import { randomBytes } from "node:crypto";
import { access, mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ValueError } from "../../../internal/value-error.js";
import { OperationalError } from "../errors.js";

const lockName = "stoa.lock";
const clusterName = "pgdata";
/** Mark of earlier versions, which built the cluster in place: a start that did not finish left it behind. */
const unfinishedName = "stoa.unfinished";
/** A cluster that is being built. */
const buildPattern = /^pgdata\.new-[0-9a-f]{12}$/;
/** A lock file that was taken away because its process had ended. */
const staleLockPattern = /^stoa\.lock\.stale-[0-9a-f]{12}$/;
/** Files that operating systems and Git put into a folder that is empty otherwise. */
const harmless = new Set(["lost+found", ".gitkeep", ".gitignore", ".DS_Store"]);

/** The folder of an embedded database, in use by this process alone. */
export interface DataFolder {
  /** The folder of the cluster itself. */
  readonly path: string;
  /** True if there is a database in it. */
  initialised(): Promise<boolean>;
  /** Creates the database: `build` fills an empty folder, which takes its final name once it is complete. */
  create(build: (path: string) => Promise<void>): Promise<void>;
  release(): Promise<void>;
}

/** Folders in use by this process. A lock file only identifies processes. */
const ours = new Set<string>();

/**
 * Takes a folder for an embedded database. It must be empty or hold a database already: a folder with other files is
 * refused, and nothing in it is touched.
 *
 * The cluster is built in a folder beside its final place, `pgdata`, and renamed when it is complete. If the process is
 * killed before that, the next start removes the folder that was being built, and nothing else. All of this happens in
 * the given folder, since that may be a mount point: it cannot be renamed, and its parent may not be writable.
 * A cluster that is in the given folder itself, as PGlite makes it, is used where it is.
 */
export async function takeFolder(given: string): Promise<DataFolder> {
  const folder = resolve(given);
  await makeFolder(folder);
  await assertOwn(folder);
  await lock(folder);
  try {
    await removeLeftovers(folder);
    const path = (await exists(join(folder, "PG_VERSION"))) ? folder : join(folder, clusterName);
    return {
      path,
      initialised: () => exists(join(path, "PG_VERSION")),
      create: (build) => create(folder, path, build),
      release: () => unlock(folder),
    };
  } catch (error) {
    await unlock(folder);
    throw error;
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new ValueError(`the folder ${folder} for the embedded database cannot be made (${code})`, { cause });
  }
}

async function assertOwn(folder: string): Promise<void> {
  const names = await readdir(folder);
  if (names.includes(unfinishedName)) {
    throw new ValueError(
      `the embedded database in ${folder} was never finished: a first start ended half way. Remove the folder if ` +
        "nothing in it is yours",
    );
  }
  if (names.includes("PG_VERSION")) return;
  const foreign = names.filter((name) => !isOwn(name) && !harmless.has(name)).sort();
  if (foreign.length === 0) return;
  const shown = foreign.slice(0, 3).join(", ") + (foreign.length > 3 ? ", ..." : "");
  throw new ValueError(
    `the folder ${folder} holds files that are not of an embedded database (${shown}): ` +
      "give the database a folder of its own, such as pglite:./data",
  );
}

function isOwn(name: string): boolean {
  return name === lockName || name === clusterName || buildPattern.test(name) || staleLockPattern.test(name);
}

async function create(folder: string, path: string, build: (path: string) => Promise<void>): Promise<void> {
  const building = join(folder, `${clusterName}.new-${randomName()}`);
  try {
    await mkdir(building);
    await build(building);
    await rename(building, path);
  } catch (error) {
    await rm(building, { recursive: true, force: true });
    throw error;
  }
}

/** Removes the files of a killed process. Clusters are built under the lock, so no live process is building one. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (buildPattern.test(name)) await rm(join(folder, name), { recursive: true, force: true });
    else if (staleLockPattern.test(name)) await rm(join(folder, name), { force: true });
  }
}

async function lock(folder: string): Promise<void> {
  if (ours.has(folder)) throw inUse(folder, "this process");
  ours.add(folder);
  try {
    await writeLock(folder);
  } catch (error) {
    ours.delete(folder);
    throw error;
  }
}

async function writeLock(folder: string): Promise<void> {
  const file = join(folder, lockName);
  for (let attempt = 0; attempt < 5; attempt++) {
    try {
      const handle = await open(file, "wx");
      await handle.writeFile(await identity(process.pid));
      await handle.close();
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const holder = await readHolder(file);
    const pid = Number.parseInt(holder, 10);
    if (holder !== "" && pid !== process.pid && (await isRunning(pid, holder))) {
      throw inUse(folder, `process ${pid}`);
    }
    await removeStaleLock(file, holder);
  }
  throw inUse(folder, "another process");
}

/** The process in a lock file. One that has just been made is empty for a moment. */
async function readHolder(file: string): Promise<string> {
  for (let attempt = 0; ; attempt++) {
    const holder = (await readFile(file, "utf8").catch(() => "")).trim();
    if (holder !== "" || attempt === 10) return holder;
    await delay(20);
  }
}

/**
 * Takes a lock file away. Another process may have replaced it since it was read: the content of the file that was taken
 * away decides, and a lock that is not the stale one is put back.
 */
async function removeStaleLock(file: string, holder: string): Promise<void> {
  const taken = `${file}.stale-${randomName()}`;
  try {
    await rename(file, taken);
  } catch {
    return;
  }
  const content = (await readFile(taken, "utf8").catch(() => "")).trim();
  if (content === holder) await rm(taken, { force: true });
  else await rename(taken, file);
}

async function unlock(folder: string): Promise<void> {
  ours.delete(folder);
  await rm(join(folder, lockName), { force: true });
}

async function isRunning(pid: number, holder: string): Promise<boolean> {
  return isAlive(pid) && (await identity(pid)) === holder;
}

/** A process by its number and, on Linux, its start: numbers are used again, in containers very soon. */
async function identity(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name of the program, in brackets, may hold spaces. The start is field 22.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return `${pid} ${fields[19] ?? ""}`.trim();
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function randomName(): string {
  return randomBytes(6).toString("hex");
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function inUse(folder: string, by: string): OperationalError {
  return new OperationalError(
    `the embedded database in ${folder} is in use by ${by}: it can be opened once at a time, so run one worker, or use a server`,
    { sqlstate: "55006" },
  );
}
