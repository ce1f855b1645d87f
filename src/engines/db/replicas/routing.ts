import type { DatabasePlace } from "../database.js";
import type { Execution } from "../pool/execution.js";
import { currentWork } from "../request-work.js";
import { readPosition } from "./position.js";
import type { Replicas } from "./replicas.js";

/** The place where a statement is sent from. */
export interface Departure {
  readonly place: DatabasePlace | null;
  /** True inside of a transaction or session, whose writes a read beside it must not miss. */
  readonly inScope: boolean;
  /** Sends an execution to the primary. */
  submit(execution: Execution): void;
}

/**
 * Sends a read to a replica; false if it is for the primary. Without a place, only reads of requests go to replicas: outside
 * of them nothing tells which writes a read must see.
 */
export function startOnReplica(
  execution: Execution,
  replicas: Replicas,
  { place, inScope, submit }: Departure,
): boolean {
  if (!execution.info.reads) {
    usePrimary();
    return false;
  }
  const work = currentWork();
  const wanted = place === null ? work !== null && !work.primaryOnly && !inScope : place === "replica";
  if (!wanted) return false;
  const replica = replicas.choose(work);
  if (replica === null) {
    // A replica that comes back could be behind the rows that the request has read by then.
    usePrimary();
    return false;
  }
  execution.reroute = (error) => {
    if (!replicas.failed(replica, execution, error)) return false;
    if (work !== null) work.primaryOnly = true;
    execution.startOver();
    submit(execution);
    return true;
  };
  replica.submit(execution);
  return true;
}

/** Sends all further reads of the current request to the primary: it writes, or may do so. */
export function usePrimary(): void {
  const work = currentWork();
  if (work !== null) work.primaryOnly = true;
}

/** Lets the reads of the current request use only replicas that have reached a position of the log. */
export function readAfter(position: string): void {
  const work = currentWork();
  if (work === null) return;
  const read = readPosition(position);
  if (read === null) work.primaryOnly = true;
  else if (work.position === null || work.position < read) work.position = read;
}
