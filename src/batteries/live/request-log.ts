import { causesOf, describeError, isInstance } from "../../errors/describe.js";
import { HttpError } from "../../errors/http-error.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { ownCopy } from "../../kit/own-copy.js";
import { hideUrlPasswords, isSecretName, redacted } from "../../logging/secrets.js";

/** A request as the page shows it: no query, no header and no body, where secrets may be. */
export interface LiveRequest {
  /** Counts up from 1. */
  readonly n: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly pattern: string | null;
  readonly status: number;
  readonly ms: number;
  /** Bytes of the body; null for a stream. */
  readonly size: number | null;
  readonly id: string | null;
  readonly error?: LiveError;
}

export interface LiveError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
  /** The causes, from the nearest on. */
  readonly causes: readonly { readonly name: string; readonly message: string }[];
}

const maxPath = 300;
const maxId = 100;
const maxMessage = 1000;
const maxStackLines = 12;
const maxStack = 4000;
const maxCauses = 4;

/** The last requests; the oldest make room for new ones. */
export class LiveRequestLog {
  #entries: LiveRequest[] = [];
  #last = 0;

  constructor(private readonly size: number) {}

  get last(): number {
    return this.#last;
  }

  add(request: Request, response: Response, ms: number): void {
    this.#entries.push(entryOf(request, response, ms, ++this.#last));
    // In one go now and then: cheaper than for each request.
    if (this.#entries.length >= this.size * 2) this.#entries = this.#entries.slice(-this.size);
  }

  /** The newest after number `n`, oldest first; at most `limit`. */
  since(n: number, limit: number = this.size): LiveRequest[] {
    const count = Math.min(this.#last - n, limit, this.size, this.#entries.length);
    return count <= 0 ? [] : this.#entries.slice(-count);
  }
}

function entryOf(request: Request, response: Response, ms: number, n: number): LiveRequest {
  const entry: LiveRequest = {
    n,
    at: Date.now(),
    method: cut(request.method, 20),
    path: cut(shownPath(request), maxPath),
    pattern: request.pattern,
    status: response.status,
    ms: Math.round(ms * 1000) / 1000,
    size: sizeOf(response),
    id: request.knownId === null ? null : cut(request.knownId, maxId),
  };
  return request.error === undefined ? entry : { ...entry, error: errorOf(request.error) };
}

/** The path, but for parameters whose name says that they hold a secret: `/reset/{token}`. */
function shownPath(request: Request): string {
  const { pattern, paramNames } = request;
  if (pattern === null || !paramNames?.some(isSecretName)) return request.path;
  return pattern.replace(/\{([^}:]+)(?::\*)?\}/g, (_, name: string) =>
    isSecretName(name) ? redacted : (request.params[name] ?? ""),
  );
}

function sizeOf({ body }: Response): number | null {
  if (body === null) return 0;
  if (typeof body === "string") return Buffer.byteLength(body);
  return body instanceof Uint8Array ? body.length : null;
}

function errorOf(error: unknown): LiveError {
  const { name, message, stack } = describeError(error);
  // An error that is a response needs no stack.
  const expected = isInstance(error, HttpError) && error.status < 500;
  const lines = stack?.split("\n").filter((line) => /^\s+at /.test(line));
  return {
    name,
    message: cut(hideUrlPasswords(message), maxMessage),
    stack: expected || !lines ? null : cut(hideUrlPasswords(lines.slice(0, maxStackLines).join("\n")), maxStack),
    causes: causesOf(error, maxCauses).map((cause) => {
      const { name, message } = describeError(cause);
      return { name, message: cut(hideUrlPasswords(message), maxMessage) };
    }),
  };
}

function cut(text: string, length: number): string {
  return ownCopy(text.length > length ? `${text.slice(0, length - 1)}…` : text);
}
