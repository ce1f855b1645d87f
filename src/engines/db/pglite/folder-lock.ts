import { createHash, randomBytes } from "node:crypto";
import { readdir, rm, statfs, symlink } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const lockPattern = /^stoa\.lock(?:\.[-.0-9a-z]+)?$/;
/** Bytes in the path of a socket that every system takes. */
const longestPath = 100;
/** Milliseconds between looks at a lock that two processes want. */
const pauseBetweenLooks = 300;
/** Milliseconds that the holder of a lock has to say who it is: a statement of its database may keep it busy. */
const patience = 10_000;
/** Times that a socket without a listener is asked again: one that is being made does not listen for a moment. */
const questions = 4;

/** Errors of a file system that has no sockets. */
const withoutSockets = new Set(["ENOTSUP", "EOPNOTSUPP", "EPERM", "EACCES", "ENOSYS", "EINVAL"]);

/**
 * File systems of Linux that several machines can have, by their numbers (statfs(2)). A socket belongs to one kernel. Another
 * machine finds its file, gets no reply, and takes it for the lock of a process that has ended.
 */
const networks: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0xff534d42, "SMB"],
  [0xfe534d42, "SMB"],
  [0x517b, "SMB"],
  [0xc36400, "Ceph"],
  [0xbd00bd0, "Lustre"],
  [0x1161970, "GFS2"],
  [0x7461636f, "OCFS2"],
]);

/** Folders of this process that have no lock. */
const unguarded = new Set<string>();

export interface FolderLock {
  /** Who has the folder; null if this process has it now. */
  readonly holder: string | null;
  /** The socket at which the holder serves the database to other processes, if it does. */
  readonly server?: string | undefined;
  release(): Promise<void>;
}

export function isLockFile(name: string): boolean {
  return lockPattern.test(name);
}

/**
 * Takes a folder for this process. The lock is a socket in the folder that this process listens to. The kernel ends it
 * with the process, and it is found by its file: from every container that has the folder, where numbers of processes
 * mean nothing. Each process makes a socket with a name that is never used again, then looks for others. Of two that
 * begin at once, the first by name stays. `serves` is told to those that come later.
 */
export async function lockFolder(folder: string, serves = ""): Promise<FolderLock> {
  const name = `stoa.lock.${randomBytes(6).toString("hex")}`;
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.end(`process ${process.pid} on ${hostname()}\n${serves}`);
  });
  server.unref();
  const release = async (): Promise<void> => {
    await new Promise((resolve) => server.close(resolve));
    await rm(join(folder, name), { force: true });
  };
  const listening = process.platform === "win32" ? pipe(folder, server) : socketIn(folder, name, server);
  const problem = await listening.then(
    () => null,
    (error: NodeJS.ErrnoException) => error,
  );
  if (problem?.code === "EADDRINUSE") return { holder: "another process", release };
  if (problem !== null && !withoutSockets.has(problem.code ?? "")) throw problem;
  if (problem !== null) {
    warn(
      `a second process from opening the embedded database in ${folder}: its file system has no sockets (${problem.code})`,
    );
    if (unguarded.has(folder)) return { holder: "this process", release };
    unguarded.add(folder);
    return { holder: null, release: async () => void unguarded.delete(folder) };
  }
  for (let question = 0; ; question++) {
    const others = await holders(folder, name);
    if (others.length === 0) {
      const network = process.platform === "linux" ? networks.get((await statfs(folder)).type) : undefined;
      if (network !== undefined)
        warn(`a second machine from opening the embedded database in ${folder}: its file system is ${network}`);
      return { holder: null, release };
    }
    if (question === questions || others.some((other) => other.name < name)) {
      await release();
      const [holder = "", server] = others[0]!.who.split("\n");
      return { holder, server: server || undefined, release };
    }
    await delay(pauseBetweenLooks);
  }
}

function warn(danger: string): void {
  process.emitWarning(`nothing keeps ${danger}`, { code: "STOA_NO_FOLDER_LOCK" });
}

/** The processes that have a lock or are about to take it. Removes the sockets of those that have ended. */
async function holders(folder: string, own: string): Promise<{ name: string; who: string }[]> {
  if (process.platform === "win32") return [];
  const found = [];
  for (const name of await readdir(folder)) {
    if (name === own || !isLockFile(name)) continue;
    const path = join(folder, name);
    const who = await throughShort(folder, name, whoListens);
    if (who === null) await rm(path, { force: true });
    else found.push({ name, who });
  }
  return found;
}

/** The process that listens to a socket; null for none. It may be too busy to reply. */
async function whoListens(path: string): Promise<string | null> {
  for (let question = 1; ; question++) {
    const who = await new Promise<string | null>((resolve) => {
      let said = "";
      const socket = connect(path);
      const end = (): void => {
        socket.destroy();
        resolve(said || "another process");
      };
      socket.once("connect", () => setTimeout(end, patience).unref());
      socket.on("data", (chunk) => (said += chunk));
      socket.on("end", end);
      socket.on("error", ({ code }: NodeJS.ErrnoException) =>
        code === "ENOENT" || code === "ECONNREFUSED" || code === "ENOTSOCK" ? resolve(null) : end(),
      );
    });
    if (who !== null || question === questions) return who;
    await delay(20);
  }
}

function socketIn(folder: string, name: string, server: Server): Promise<void> {
  return throughShort(folder, name, (path) => listen(server, path));
}

/** Only one process can have a pipe by its name, and it ends with the process. */
function pipe(folder: string, server: Server): Promise<void> {
  return listen(server, `\\\\?\\pipe\\stoa-${createHash("sha256").update(folder.toLowerCase()).digest("hex")}`);
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, resolve);
  });
}

/** The path of a socket is short by tradition: a long one goes through a link. */
async function throughShort<T>(folder: string, name: string, use: (path: string) => Promise<T>): Promise<T> {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= longestPath) return use(path);
  const link = join(tmpdir(), `stoa-${randomBytes(6).toString("hex")}`);
  await symlink(folder, link);
  try {
    return await use(join(link, name));
  } finally {
    await rm(link, { force: true });
  }
}
