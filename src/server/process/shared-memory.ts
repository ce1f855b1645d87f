import { closeSync } from "node:fs";
import { nodeCrypto } from "../../kit/node-modules.js";
import { processWide } from "../../kit/process-wide.js";
import { type Addon, loadAddon } from "../native/addon.js";
import { parentLink } from "./parent-link.js";

/** The descriptor of the memory in a worker. */
export const memoryDescriptor = 6;
/** The owner of the supervisor's locks; those of workers follow. */
export const supervisorOwner = 1;
/** The memory begins with its layout, the clock's zero and the secret, then has the locks and holds. The rest is for state. */
const layout = 2;
const secretAt = 16;
export const locksAt = 64;
export const maxLocks = 4096;
const holdsAt = locksAt + 4 * maxLocks;
export const maxHolds = 8192;
export const stateAt: number = holdsAt + 8 * maxHolds;
/** The system gives pages as they are used. */
const size = 24 * 1024 * 1024;
/** Attempts to take a lock before others get their turn: some microseconds, in which a lock is mostly released. */
const attempts = 200;

/**
 * Memory of the supervisor and all its workers. Whatever is changed there is changed by one atomic exchange, or under a lock,
 * by stores of which each leaves something that holds: a process can be killed between any two of them. Then the supervisor
 * releases its locks and holds.
 */
export class SharedMemory {
  readonly buffer: ArrayBuffer;
  /** The same in all processes, and unknown to clients. */
  readonly secret: Uint8Array;
  readonly owner: number;
  /** Words for what a process has until it ends: the lower half is the owner, the upper half is free to use. */
  readonly holds: BigUint64Array;
  readonly #locks: Int32Array;
  readonly #zero: number;

  constructor(buffer: ArrayBuffer, owner: number) {
    this.buffer = buffer;
    this.secret = new Uint8Array(buffer, secretAt, 32);
    this.owner = owner;
    this.holds = new BigUint64Array(buffer, holdsAt, maxHolds);
    this.#locks = new Int32Array(buffer, locksAt, maxLocks);
    this.#zero = new Float64Array(buffer, 8, 1)[0]!;
  }

  /** Milliseconds, from 0 on, on a clock that never goes back and is the same in all processes. */
  now(): number {
    const [seconds, nanoseconds] = process.hrtime();
    return (seconds - this.#zero) * 1000 + nanoseconds / 1e6;
  }

  /** False if another process holds the lock, and does not release it at once. Must be followed by `unlock` in the same turn. */
  lock(index: number): boolean {
    for (let i = 0; i < attempts; i++) {
      const owner = Atomics.compareExchange(this.#locks, index, 0, this.owner);
      // An error has kept this process from releasing it.
      if (owner === 0 || owner === this.owner) return true;
    }
    return false;
  }

  unlock(index: number): void {
    Atomics.store(this.#locks, index, 0);
  }

  /** Releases the locks and holds of a process that has ended; returns the number of locks. */
  release(owner: number): number {
    let released = 0;
    for (let i = 0; i < maxLocks; i++) if (Atomics.compareExchange(this.#locks, i, owner, 0) === owner) released++;
    for (let i = 0; i < maxHolds; i++) {
      const held = Atomics.load(this.holds, i);
      if (Number(held & 0xffff_ffffn) === owner) Atomics.compareExchange(this.holds, i, held, 0n);
    }
    return released;
  }
}

interface Mapped {
  readonly shared: SharedMemory;
  readonly descriptor: number;
}

const known = processWide("sharedMemory", (): { memory: SharedMemory | null | undefined } => ({ memory: undefined }));

/** Makes the memory of a supervisor; null without the addon, or if the system refuses. */
export function createSharedMemory(addon: Pick<Addon, "memory" | "map"> | string = loadAddon()): Mapped | null {
  if (typeof addon === "string") return null;
  const descriptor = addon.memory(size);
  if (descriptor < 0) return null;
  const buffer = addon.map(descriptor, size);
  if (typeof buffer === "number") {
    closeSync(descriptor);
    return null;
  }
  new Int32Array(buffer)[0] = layout;
  new Float64Array(buffer)[1] = process.hrtime()[0];
  nodeCrypto().randomFillSync(new Uint8Array(buffer, secretAt, 32));
  known.memory = new SharedMemory(buffer, supervisorOwner);
  return { shared: known.memory, descriptor };
}

/** The memory that this process shares; null if there is none. */
export function sharedMemory(): SharedMemory | null {
  if (known.memory === undefined) {
    const given = parentLink?.memory;
    known.memory = given ? openMemory(given.descriptor, given.owner) : null;
    // Programs that this one starts do not get it.
    if (given) closeSync(given.descriptor);
  }
  return known.memory;
}

/** Null if it cannot be used: the package may have been replaced since the supervisor started. */
export function openMemory(descriptor: number, owner: number): SharedMemory | null {
  const addon = loadAddon();
  const buffer = typeof addon === "string" ? null : addon.map(descriptor, size);
  if (!(buffer instanceof ArrayBuffer) || new Int32Array(buffer)[0] !== layout) return null;
  return new SharedMemory(buffer, owner);
}
