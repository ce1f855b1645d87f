/**
 * The kinds of failures.
 * - UNREACHABLE: there is no connection to the broker, or it broke. Held back and tried again until the time is up. Not held
 *   back if it is the schema registry.
 * - TIMEOUT: no confirmation within the time. The broker may have the message all the same.
 * - REFUSED: the broker or the schema registry replied with an error.
 * - UNKNOWN_TOPIC: the topic does not exist, or no queue would receive the message.
 * - TOO_LARGE: the message is larger than the broker takes.
 * - INVALID: a value does not fit the schema of its topic, or is not JSON.
 * - BUSY: too many publishes wait already.
 * - LOST: the delivery now belongs to another consumer, or its connection was lost.
 * - UNSUPPORTED: the broker cannot do this.
 * - CLOSED: the broker is not open yet, or has been closed.
 */
export type MessagingErrorCode =
  | "UNREACHABLE"
  | "TIMEOUT"
  | "REFUSED"
  | "UNKNOWN_TOPIC"
  | "TOO_LARGE"
  | "INVALID"
  | "BUSY"
  | "LOST"
  | "UNSUPPORTED"
  | "CLOSED";

/** A failure of messaging. No message holds a value or a password. */
export class MessagingError extends Error {
  readonly code: MessagingErrorCode;

  constructor(code: MessagingErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
  }

  /** True if the same call can succeed later. */
  get transient(): boolean {
    return this.code === "UNREACHABLE";
  }
}

/** Any error as one of messaging; one that is unknown counts as refused. */
export function asMessagingError(error: unknown): MessagingError {
  if (error instanceof MessagingError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new MessagingError("REFUSED", text, { cause: error });
}
