import { jsonResponse, Response } from "../../http/response.js";
import type { SseEvent } from "../../http/sse.js";
import { deferred } from "../../kit/deferred.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import type { RpcError } from "./protocol.js";
import type { McpSession } from "./sessions.js";

/** Messages of one exchange that are kept, and their characters: a client may read slowly, or come back. */
const maxKept = 1000;
const maxSize = 4 * 1024 * 1024;
/** Seconds after which a client comes back to a stream that was closed. */
const retry = 0.5;
/** Milliseconds after which a call without a message becomes a stream, whose heartbeat keeps proxies from closing it. */
const quietMs = 10_000;

export interface ExchangeSettings {
  readonly session: McpSession | null;
  /** The number of responses. */
  readonly calls: number;
  readonly isBatch: boolean;
  /** True if the client accepts an event stream. */
  readonly canStream: boolean;
  /** Milliseconds for which calls without a connection continue. */
  readonly resumeMs: number;
  /** Called with each message for a client that has come back, on whichever worker. */
  relay(message: RelayedMessage): void;
  /** Ends all calls: no client waits for them. */
  abandon(): void;
  /** No client can come back to it any more. */
  done(): void;
}

/** A message on its way to a client that has come back. */
export interface RelayedMessage {
  readonly number: number;
  readonly text: string;
  readonly isLast: boolean;
}

/**
 * The messages in response to one POST. It is JSON if nothing is sent before the result, and an event stream otherwise. The
 * messages of a client that has left are kept; when it comes back, they are sent to a room for the worker that it has reached.
 */
export class Exchange {
  readonly id: string = nodeCrypto().randomUUID();
  readonly session: McpSession | null;
  readonly canStream: boolean;
  /** Resolves when it is known whether the response is JSON or a stream. */
  readonly response: Promise<Response>;
  readonly #settings: ExchangeSettings;
  readonly #resolve: (response: Response) => void;
  /** The messages that are kept, the first of them with the number `#first`. */
  readonly #texts: string[] = [];
  #first = 0;
  #size = 0;
  readonly #results: string[] = [];
  #error: RpcError | null = null;
  #missing: number;
  #state: "undecided" | "streaming" | "detached" | "over" = "undecided";
  /** The client has come back on another connection. */
  #isHeard = false;
  #wake: () => void = () => {};
  #timer: NodeJS.Timeout | null = null;

  constructor(settings: ExchangeSettings) {
    this.#settings = settings;
    this.session = settings.session;
    this.canStream = settings.canStream;
    this.#missing = settings.calls;
    ({ promise: this.response, resolve: this.#resolve } = deferred());
    if (settings.canStream) this.#later(quietMs, () => this.#open());
  }

  /** Sends a notification or a request. */
  send(text: string): void {
    if (!this.canStream || this.#missing === 0) return;
    this.#open();
    this.#add(text);
  }

  /** The response of a call; null for one that was cancelled, which gets none. */
  settle(text: string | null, error: RpcError | null = null): void {
    this.#missing--;
    this.#error ??= error;
    if (this.#state === "undecided") {
      if (text !== null) this.#results.push(text);
      if (this.#missing > 0) return;
      this.#answer();
      return;
    }
    if (text !== null) this.#add(text);
    if (this.#missing > 0) return;
    this.#wake();
    // An event without data: one that waits for the next message learns that there is none.
    if (this.#state === "detached") {
      if (text === null) this.#add("");
      this.#later(this.#settings.resumeMs, () => this.#over());
    } else if (this.#state === "over") this.#settings.done();
  }

  /** Ends the connection; the client comes back. */
  close(): void {
    if (this.session?.data.version !== "2025-11-25" || !this.canStream || this.#missing === 0) return;
    this.#open();
    this.detach();
  }

  /** The client has left, or has come back on another connection. */
  detach(): void {
    if (this.#state === "detached" || this.#state === "over") return;
    if (this.#state === "undecided" || this.session === null || this.#settings.resumeMs === 0) {
      this.#over();
      return;
    }
    this.#state = "detached";
    this.#later(this.#settings.resumeMs, () => this.#over());
    this.#wake();
  }

  /** The client waits on another connection for the messages after a number: the calls continue as long as it repeats this. */
  resumed(after: number): void {
    this.detach();
    if (this.#state !== "detached") return;
    this.#isHeard = true;
    this.#later(this.#settings.resumeMs, () => this.#over());
    const first = Math.max(after + 1 - this.#first, 0);
    for (let index = first; index < this.#texts.length; index++) this.#relay(index);
    // At least one message, so that it learns that the call exists.
    if (first >= this.#texts.length) this.#settings.relay({ number: after, text: "", isLast: this.#missing === 0 });
  }

  #answer(): void {
    this.#state = "over";
    this.#later(0, null);
    const { isBatch } = this.#settings;
    const [text] = this.#results;
    if (text === undefined) this.#resolve(new Response(null, 202));
    else if (isBatch) this.#resolve(jsonResponse(`[${this.#results.join(",")}]`, 200));
    else this.#resolve(rpcResponse(text, this.#error));
    this.#settings.done();
  }

  #open(): void {
    if (this.#state !== "undecided") return;
    this.#state = "streaming";
    this.#later(0, null);
    // Only clients of this version know an event without data; it gives them an id to come back with.
    if (this.session?.data.version === "2025-11-25") this.#add("");
    for (const text of this.#results) this.#add(text);
    this.#resolve(Response.sse(() => this.#events()));
  }

  #add(text: string): void {
    this.#texts.push(text);
    this.#size += text.length;
    while (this.#texts.length > 1 && (this.#texts.length > maxKept || this.#size > maxSize)) {
      this.#size -= this.#texts.shift()!.length;
      this.#first++;
    }
    if (this.#state === "detached" && this.#isHeard) this.#relay(this.#texts.length - 1);
    this.#wake();
  }

  #relay(index: number): void {
    const isLast = this.#missing === 0 && index === this.#texts.length - 1;
    this.#settings.relay({ number: this.#first + index, text: this.#texts[index]!, isLast });
  }

  async *#events(): AsyncGenerator<SseEvent> {
    for (let at = 0; ; at++) {
      at = Math.max(at, this.#first);
      while (at >= this.#first + this.#texts.length) {
        if (this.#missing === 0 || this.#state !== "streaming") {
          if (this.#state === "streaming") this.#over();
          return;
        }
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
      const data = this.#texts[at - this.#first]!;
      yield { id: `${this.id}.${at}`, data, ...(data === "" && { retry }) };
      if (this.#state !== "streaming") return;
    }
  }

  #over(): void {
    if (this.#state === "over") return;
    const isUndecided = this.#state === "undecided";
    this.#state = "over";
    this.#later(0, null);
    this.#wake();
    if (isUndecided) this.#resolve(new Response(null, 202));
    if (this.#missing > 0) this.#settings.abandon();
    else this.#settings.done();
  }

  #later(ms: number, action: (() => void) | null): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = action === null ? null : setTimeout(action, ms).unref();
  }
}

/** A response of JSON-RPC. An error can have a status, for the HTTP side of the client. */
export function rpcResponse(text: string, error: RpcError | null): Response {
  const response = jsonResponse(text, error?.status ?? 200);
  for (const [name, value] of Object.entries(error?.headers ?? {})) response.header(name, value);
  return response;
}
