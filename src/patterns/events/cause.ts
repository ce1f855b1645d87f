import { AsyncLocalStorage } from "node:async_hooks";
import type { EventMetadata } from "./event.js";

/** The cause of what runs, and the place where the position of its last append is kept. */
interface Surroundings {
  readonly cause: EventMetadata | undefined;
  readonly journal: Journal | undefined;
}

/** The position of the last event that was appended; 0 if there was none. */
export interface Journal {
  position: number;
}

/** Made when first needed: an active storage costs every promise a little. */
let storage: AsyncLocalStorage<Surroundings> | null = null;

/** Runs a function; events that it appends name this cause in their metadata. */
export function causedBy<T>(cause: EventMetadata, run: () => T): T {
  const { correlationId, causationId } = cause;
  return within({ cause: { correlationId, causationId }, journal: storage?.getStore()?.journal }, run);
}

/** Runs a function; the journal learns the position of its last append. */
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

function within<T>(surroundings: Surroundings, run: () => T): T {
  storage ??= new AsyncLocalStorage();
  return storage.run(surroundings, run);
}
