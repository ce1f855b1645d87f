/**
 * The kinds of failures.
 * - UNREACHABLE: there is no connection, or it broke before the reply.
 * - TIMEOUT: no reply within the time. The server may have executed the call all the same.
 * - REFUSED: the server replied with an error; `reply` is its first word: `WRONGTYPE`, `NOPERM`, `OOM`.
 * - LOCKED: another holder has the lock, and had it for the whole time to wait.
 * - LOCK_LOST: a lock that was held is held no more.
 * - CLOSED: the store is not open yet, or has been closed.
 * - BUSY: too many blocking calls at a time.
 * - DATA: a value is not what the call can read: not JSON.
 */
export type KvErrorCode = "UNREACHABLE" | "TIMEOUT" | "REFUSED" | "LOCKED" | "LOCK_LOST" | "CLOSED" | "BUSY" | "DATA";

/** A failure of the key-value store. No message holds a value or a password. */
export class KvStoreError extends Error {
  readonly code: KvErrorCode;
  /** The first word of the server's error: `WRONGTYPE`. Null unless `code` is `REFUSED`. */
  readonly reply: string | null;

  constructor(code: KvErrorCode, message: string, options: { reply?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.reply = options.reply ?? null;
  }
}
