import type { Worker } from "node:cluster";
import type { CrashLoop } from "./process/crash-loop.js";
import type { ParentMessage } from "./process/parent-link.js";

/** The place of one worker after another. */
export interface WorkerSlot {
  readonly crashes: CrashLoop;
  /** The timer of the next start, and the milliseconds that it waits. */
  pending: { readonly timer: NodeJS.Timeout; readonly start: () => void; readonly wait: number } | null;
}

/** A worker, as the supervisor keeps it. */
export interface Charge {
  readonly worker: Worker;
  readonly place: WorkerSlot;
  readyAt: number | null;
  /** Another has been started in its place. */
  replaced: boolean;
  /** Messages of other workers that it has not taken yet. */
  waiting: number;
  /** The worker that leaves when this one is ready. */
  replaces: Charge | null;
  /** True if it has been killed because it was stuck. */
  stuck: boolean;
  /** The file that names its routes. */
  readonly routes: number | null;
  /** Called with true when it is ready, and with false when it has ended before. */
  onStart: (isReady: boolean) => void;
}

/** Messages kept for a worker that does not take them. A stuck one must not fill the memory of the supervisor. */
const maxWaiting = 64;

export function pidOf(charge: Charge): { pid: number | undefined } {
  return { pid: charge.worker.process.pid };
}

/** False if the message is not sent, because the worker takes none. */
export function send(charge: Charge, message: ParentMessage): boolean {
  if (charge.waiting >= maxWaiting || !charge.worker.isConnected()) return false;
  charge.waiting++;
  charge.worker.send(message, () => {
    charge.waiting--;
  });
  return true;
}
