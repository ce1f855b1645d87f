import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { nodeCrypto } from "../../kit/node-modules.js";
import { packageFolder } from "../../kit/package-folder.js";

/** How the addon moves bytes. Its `open` takes and returns the place in this list; "auto" takes io_uring if the system allows it. */
export const engines = ["auto", "epoll", "io_uring"] as const;

/** The functions of native/wire.c, which describes them. Those that return a number return an error below 0. */
export interface Addon {
  readonly interface: number;
  /** Where it comes from, for people. */
  readonly origin: string;
  open(
    call: (count: number) => void,
    events: Int32Array,
    slab: Uint8Array,
    out: Uint8Array,
    index: Int32Array,
    pending: Int32Array,
    state: Int32Array,
    engine: number,
  ): number;
  listen(address: string, port: number, backlog: number, limit: number): number;
  port(listener: number): number;
  limit(listener: number, connections: number): void;
  unlisten(listener: number): void;
  adopt(descriptor: number): number;
  flush(): void;
  send(id: number, bytes: Uint8Array): void;
  file(id: number, descriptor: number, position: number, length: number): number;
  control(id: number, operation: number): void;
  address(id: number): string | undefined;
  detach(id: number): [descriptor: number, unsent: Buffer, received: Buffer] | undefined;
  memory(size: number): number;
  map(descriptor: number, size: number): ArrayBuffer | number;
}

/** The interface that this code calls. */
const wanted = 4;

let found: Addon | string | undefined;

/** The addon, or why it cannot be used. */
export function loadAddon(): Addon | string {
  return (found ??= findAddon(packageFolder()));
}

/** A package for this platform, installed beside the folder of this one, or the addon that was built in the folder. */
export function findAddon(folder: string): Addon | string {
  if (process.platform !== "linux") return `it needs Linux, and this is ${process.platform}`;
  const prebuilt = openPrebuilt(folder);
  if (typeof prebuilt !== "string") return prebuilt;
  const refusal = prebuilt === missing ? "" : `; ${prebuilt}`;
  const built = open(join(folder, `native/build/wire-linux-${process.arch}.node`), `built here${refusal}`);
  if (typeof built !== "string") return built;
  return [prebuilt, built].filter((reason) => reason !== missing).join("; ") || missing;
}

const missing = "it is not built: run `npx stoa build-native`";

function openPrebuilt(folder: string): Addon | string {
  const name = `@stoa/wire-linux-${process.arch}-${usesMusl() ? "musl" : "gnu"}`;
  let file: string;
  try {
    file = createRequire(join(folder, "package.json")).resolve(name);
  } catch {
    return missing;
  }
  if (!isGenuine(folder, name, file)) return `the file of ${name} is not the one that this version was released with`;
  return open(file, name);
}

/** True if the C library of this process is musl. Old versions of npm install the packages for both libraries. */
function usesMusl(): boolean {
  try {
    return /\/(?:ld-musl-[^/]*|libc\.so)$/m.test(readFileSync("/proc/self/maps", "latin1"));
  } catch {
    return false;
  }
}

/** native/checksums.json is made for a release: the SHA-256 of the file of each package. */
function isGenuine(folder: string, name: string, file: string): boolean {
  try {
    const sums = JSON.parse(readFileSync(join(folder, "native/checksums.json"), "utf8")) as Record<string, string>;
    return sums[name] === nodeCrypto().createHash("sha256").update(readFileSync(file)).digest("hex");
  } catch {
    return false;
  }
}

function open(file: string, origin: string): Addon | string {
  if (!existsSync(file)) return missing;
  const loaded = { exports: {} as Addon };
  try {
    if (!isWhole(readFileSync(file))) return "its file is cut off: run `npx stoa build-native`";
    process.dlopen(loaded, file);
  } catch (error) {
    return `it cannot be loaded: ${(error as Error).message}`;
  }
  if (loaded.exports.interface === wanted) return Object.assign(loaded.exports, { origin });
  return "it was built for another version: run `npx stoa build-native`";
}

/** To load a file that is cut off would end the process. The table of sections is the last part of an ELF file. */
function isWhole(bytes: Buffer): boolean {
  if (bytes.length < 64) return true;
  return bytes.readBigUInt64LE(0x28) + BigInt(bytes.readUInt16LE(0x3a) * bytes.readUInt16LE(0x3c)) <= bytes.length;
}
