import { randomBytes } from "node:crypto";
import { access, mkdir, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ValueError } from "../../../kit/value-error.js";
import { OperationalError } from "../errors.js";
import { isLockFile, lockFolder } from "./folder-lock.js";

const clusterName = "pgdata";
/** Mark of earlier versions, which built the cluster in place: a start that did not finish left it behind. */
const unfinishedName = "stoa.unfinished";
/** A cluster that is being built. */
const buildPattern = /^pgdata\.new-[0-9a-f]{12}$/;
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

/**
 * Takes a folder for an embedded database. It must be empty or hold a database already: a folder with other files is
 * refused, and nothing in it is touched.
 *
 * The cluster is built in a folder beside its final place, `pgdata`, and renamed when it is complete. If the process is
 * killed before that, the next start removes the folder that was being built, and nothing else. All of this happens in
 * the given folder, since that may be a mount point: it cannot be renamed, and its parent may not be writable.
 * A cluster that is in the given folder itself, as PGlite makes it, is used where it is.
 *
 * If another process has the folder and serves its database, the result is the socket of that process. `serves` is the one
 * at which this process will.
 */
export async function takeFolder(given: string, serves?: string): Promise<DataFolder | string> {
  const folder = resolve(given);
  await makeFolder(folder);
  await assertOwn(folder);
  const { holder, server, release } = await lockFolder(folder, serves);
  if (server !== undefined) return server;
  if (holder !== null) throw inUse(folder, holder);
  try {
    await removeLeftovers(folder);
    const path = (await exists(join(folder, "PG_VERSION"))) ? folder : join(folder, clusterName);
    return {
      path,
      initialised: () => exists(join(path, "PG_VERSION")),
      create: (build) => create(folder, path, build),
      release,
    };
  } catch (error) {
    await release();
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
      "give the database its own folder, such as pglite:./data",
  );
}

function isOwn(name: string): boolean {
  return name === clusterName || buildPattern.test(name) || isLockFile(name);
}

async function create(folder: string, path: string, build: (path: string) => Promise<void>): Promise<void> {
  const building = join(folder, `${clusterName}.new-${randomBytes(6).toString("hex")}`);
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
  }
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
