import { AsyncLocalStorage } from "node:async_hooks";
import type { EventMetadata } from "./event.js";

/** Made when first needed: an active storage costs every promise a little. */
let storage: AsyncLocalStorage<EventMetadata> | null = null;

/** Runs a function; events that it appends name this cause in their metadata. */
export function causedBy<T>(cause: EventMetadata, run: () => T): T {
  storage ??= new AsyncLocalStorage();
  return storage.run({ correlationId: cause.correlationId, causationId: cause.causationId }, run);
}

/** The cause of what runs now, if it is known. */
export function currentCause(): EventMetadata | undefined {
  return storage?.getStore();
}
