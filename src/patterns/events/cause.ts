import { AsyncLocalStorage } from "node:async_hooks";
import type { EventMetadata } from "./event.js";

/** The cause of what runs, and the place where the position of its last append is kept. */
interface Surroundings {
  readonly cause: EventMetadata | undefined;
  readonly journal: Journal | undefined;
}

export interface Journal {
  /** The position of the last event that was appended; 0 if there was none. */
  position: number;
  /** True if there was nothing to append to an aggregate: an earlier call may have done it. */
  unchanged: boolean;
}

/** Made when first needed: an active storage costs every promise a little. */
let storage: AsyncLocalStorage<Surroundings> | null = null;

/** Runs a function; events that it appends name this cause in their metadata. */
export function causedBy<T>(cause: EventMetadata, run: () => T): T {
  const { correlationId, causationId } = cause;
  return within({ cause: { correlationId, causationId }, journal: storage?.getStore()?.journal }, run);
}

/** Runs a function; the journal learns what it appends. */
export function withJournal<T>(journal: Journal, run: () => T): T {
  return within({ cause: currentCause(), journal }, run);
}

/** The cause of what runs now, if it is known. */
export function currentCause(): EventMetadata | undefined {
  return storage?.getStore()?.cause;
}

export function noteAppend(position: number): void {
  const journal = storage?.getStore()?.journal;
  if (journal !== undefined) journal.position = Math.max(journal.position, position);
}

export function noteUnchanged(): void {
  const journal = storage?.getStore()?.journal;
  if (journal !== undefined) journal.unchanged = true;
}

function within<T>(surroundings: Surroundings, run: () => T): T {
  storage ??= new AsyncLocalStorage();
  return storage.run(surroundings, run);
}
