import type { HttpError } from "../errors/http-error.js";
import type { Logger } from "../kit/logger.js";
import { Pace } from "../kit/time/pace.js";
import { responsesUnread } from "./body/unread-responses.js";

/** The code of TLS handshakes that failed, in metrics and in the log. */
export const handshakeFailed = "TLS_HANDSHAKE_FAILED";

/**
 * Counts the requests that a transport refuses before the application sees them, by code. The log gets at most one line in
 * ten seconds, whatever clients send.
 */
export class Refusals {
  readonly #counts = new Map<string, number>();
  readonly #log: { readonly logger: Logger };
  readonly #pace: Pace;

  /** `log`: its logger is read when a line is written. To make one takes time that a start does not have. */
  constructor(log: { readonly logger: Logger }, now?: () => number) {
    this.#log = log;
    this.#pace = new Pace(now);
  }

  /** The number of refusals by code since the start. The codes are those of the table of errors, so there are few. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  add({ code, status }: HttpError): void {
    this.#note(code, "a request was refused before the application saw it", { status });
  }

  /** Counts a TLS handshake that failed. Its reason is shown, and is not counted apart: a client can choose it. */
  addHandshake(error: Error & { readonly code?: unknown }): void {
    this.#note(handshakeFailed, "a TLS handshake failed", {
      reason: String(error.code ?? error.message).slice(0, 100),
    });
  }

  /** Counts a connection that was ended because its client abuses HTTP/2 or does not read. There are few codes. */
  addConnection(code: string): void {
    const reason = code === responsesUnread ? "does not read its responses" : "abuses HTTP/2";
    this.#note(code, `a connection was ended because its client ${reason}`, {});
  }

  #note(code: string, text: string, fields: Readonly<Record<string, unknown>>): void {
    this.#counts.set(code, (this.#counts.get(code) ?? 0) + 1);
    const more = this.#pace.next();
    if (more !== null) this.#log.logger.info(text, { ...fields, code, ...more });
  }
}
