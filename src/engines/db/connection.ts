import type { Execution } from "./pool/execution.js";

/** One session with a database of either engine. Responses come in the order of the statements. */
export interface Connection {
  /** The number of statements without a response. */
  readonly load: number;
  /** False once it is lost or being closed; it then stays so. */
  readonly usable: boolean;
  /** True if it can take statements of other callers now: not while a cancel request could hit them. */
  readonly available: boolean;
  /** True if no transaction is open on it, as of the last response. */
  readonly clean: boolean;
  /** True if a statement may have left something in the session: it is reset before others use it. */
  altered: boolean;
  /** True if it takes no more work and is to be closed once it has none. */
  retired: boolean;
  /** The time on the monotonic clock at which it is to be replaced by a new one. */
  retireAt: number;
  /** True if a statement under way is slow, or is known to be. */
  readonly slow: boolean;
  /** Milliseconds that a statement may run on it for now; null for the configured limit. */
  statementLimit: number | null;
  /** The time of its last start of a statement or response, on the monotonic clock. */
  readonly busySince: number;
  send(execution: Execution): void;
  /** Stops the work on an execution whose caller has left. */
  cancel(execution: Execution): void;
  /** Resolves when no cancel request is under way. */
  quiet(): Promise<void>;
  /** Back to the state of a new session; rejects when that fails. */
  reset(): Promise<void>;
  /** Keeps the statements of others out of the session, or lets them in again: an embedded database has one for all its processes. */
  alone?(alone: boolean): Promise<unknown> | undefined;
  /** Ends it at once. Statements in flight fail. */
  destroy(reason: Error): void;
  /** Ends it after its statements. */
  end(): Promise<void>;
}

/** Gets the events of a connection. */
export interface ConnectionOwner {
  /** A statement has its response: there is room for another. */
  onProgress(connection: Connection): void;
  /** It cannot be used any more. Called once. */
  onGone(connection: Connection): void;
  /** An execution that may be sent again, on any connection. */
  onRetry(execution: Execution): void;
}

/** The owner of a connection whose events are ignored. */
export const nobody: ConnectionOwner = { onProgress() {}, onGone() {}, onRetry() {} };
