import { access, mkdir, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { OperationalError } from "../errors.js";

const lockName = "stoa.lock";
const unfinishedName = "stoa.unfinished";

/** The folder of an embedded database, in use by this process alone. */
export interface DataFolder {
  readonly path: string;
  /** Whether a database is in it already. */
  readonly initialised: boolean;
  /** To be called once the new database works: from now on it is kept. */
  finish(): Promise<void>;
  release(): Promise<void>;
}

/** Folders in use by this process, which its own lock files cannot tell. */
const ours = new Set<string>();

/**
 * Takes a folder. Two processes at once would ruin the database, so a lock file names the one that has it; and one that
 * died while it made the database leaves a mark, by which the next begins anew.
 */
export async function takeFolder(given: string): Promise<DataFolder> {
  const path = resolve(given);
  await mkdir(path, { recursive: true });
  await lock(path);
  try {
    if (await exists(join(path, unfinishedName))) await clear(path);
    const initialised = await exists(join(path, "PG_VERSION"));
    if (!initialised) await writeFile(join(path, unfinishedName), "");
    return {
      path,
      initialised,
      finish: () => rm(join(path, unfinishedName), { force: true }),
      release: () => unlock(path),
    };
  } catch (error) {
    await unlock(path);
    throw error;
  }
}

async function lock(path: string): Promise<void> {
  if (ours.has(path)) throw inUse(path, "this process");
  const file = join(path, lockName);
  for (let attempt = 0; attempt < 2; attempt++) {
    try {
      const handle = await open(file, "wx");
      await handle.writeFile(await identity(process.pid));
      await handle.close();
      ours.add(path);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const holder = (await readFile(file, "utf8").catch(() => "")).trim();
    const pid = Number.parseInt(holder, 10);
    if (holder !== "" && pid !== process.pid && isAlive(pid) && (await identity(pid)) === holder) {
      throw inUse(path, `process ${pid}`);
    }
    await rm(file, { force: true });
  }
  throw inUse(path, "another process");
}

async function unlock(path: string): Promise<void> {
  ours.delete(path);
  await rm(join(path, lockName), { force: true });
}

/** A process by its number and, where the system tells, its start: numbers are used again, in containers very soon. */
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

async function clear(path: string): Promise<void> {
  for (const name of await readdir(path)) {
    if (name !== lockName) await rm(join(path, name), { recursive: true, force: true });
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function inUse(path: string, by: string): OperationalError {
  return new OperationalError(
    `the embedded database in ${path} is in use by ${by}: it can be opened once at a time, so run one worker, or use a server`,
    { sqlstate: "55006" },
  );
}
