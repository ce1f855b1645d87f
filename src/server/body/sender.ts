import type { Writable } from "node:stream";
import type { BodyStream, ResponseBody } from "../../http/response.js";

/** What a sender tells the connection. */
export interface SenderHost {
  /** The body has been handed to the socket. */
  bodySent(): void;
  /** The body cannot be completed. `begun` says whether the head has left already. */
  bodyFailed(error: unknown, begun: boolean): void;
}

/** Sends a body in parts, each when the client has taken the one before. */
export interface BodySender {
  /** Sends the head, and with it what can be had at once. */
  start(): void;
  /** The socket has room again. */
  drained(): void;
  /** The client has left. */
  cancel(): void;
}

const sliceSize = 64 * 1024;
const smallPiece = 4 * 1024;

/** A body that is all there but too large to be given away at once. */
export class LargeBodySender implements BodySender {
  readonly #socket: Writable;
  readonly #host: SenderHost;
  readonly #head: string;
  readonly #body: string | Uint8Array;
  readonly #encoding: BufferEncoding;
  #sent = 0;

  /** `ascii` tells of a string that each character of it is one byte. */
  constructor(socket: Writable, host: SenderHost, head: string, body: string | Uint8Array, ascii: boolean) {
    this.#socket = socket;
    this.#host = host;
    this.#head = head;
    this.#body = body;
    this.#encoding = ascii ? "latin1" : "utf8";
  }

  start(): void {
    this.#socket.cork();
    if (this.#head !== "") this.#socket.write(this.#head, "latin1");
    const more = this.#writeSlice();
    this.#socket.uncork();
    if (more) this.drained();
  }

  drained(): void {
    while (this.#sent < this.#body.length) {
      if (!this.#writeSlice()) return;
    }
    this.#host.bodySent();
  }

  cancel(): void {}

  #writeSlice(): boolean {
    const body = this.#body;
    let end = Math.min(body.length, this.#sent + sliceSize);
    if (typeof body === "string") {
      if (this.#encoding === "utf8" && end < body.length && isHighSurrogate(body.charCodeAt(end - 1))) end--;
      const slice = body.slice(this.#sent, end);
      this.#sent = end;
      return this.#socket.write(slice, this.#encoding);
    }
    const slice = body.subarray(this.#sent, end);
    this.#sent = end;
    return this.#socket.write(slice);
  }
}

/** How the receiver knows where a streamed body ends. */
export type StreamFraming = "chunked" | "length" | "close";

/** A body that is made while it is sent. */
export class StreamSender implements BodySender {
  readonly #socket: Writable;
  readonly #host: SenderHost;
  readonly #framing: StreamFraming;
  readonly #iterator: AsyncIterator<Uint8Array | string>;
  /** Waits for the first piece, but not longer than until the event loop comes around. */
  #head: string;
  /** Bytes that Content-Length still promises. */
  #left: number;
  #cancelled = false;
  #wake: (() => void) | null = null;

  constructor(
    socket: Writable,
    host: SenderHost,
    head: string,
    body: BodyStream,
    framing: StreamFraming,
    length: number,
  ) {
    this.#socket = socket;
    this.#host = host;
    this.#head = head;
    this.#framing = framing;
    this.#left = length;
    this.#iterator = body[Symbol.asyncIterator]();
  }

  start(): void {
    setImmediate(flushHead, this);
    this.#run().then(
      (whole) => {
        if (whole) this.#host.bodySent();
      },
      (error: unknown) => {
        if (this.#cancelled) return;
        this.#cancelled = true;
        stopIterator(this.#iterator);
        this.#host.bodyFailed(error, this.#head === "");
      },
    );
  }

  drained(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    this.#head = "";
    stopIterator(this.#iterator);
    this.drained();
  }

  /** Sends the head alone, when no piece has come to send it with. */
  flushHead(): void {
    if (this.#head === "" || this.#cancelled) return;
    const head = this.#head;
    this.#head = "";
    this.#socket.write(head, "latin1");
  }

  /** Whether the body was sent to its end. */
  async #run(): Promise<boolean> {
    for (;;) {
      const { done, value } = await this.#iterator.next();
      if (this.#cancelled) return false;
      if (done) break;
      if (value.length === 0) continue;
      await this.#sendPiece(value);
      if (this.#cancelled) return false;
    }
    if (this.#framing === "length" && this.#left > 0) {
      throw new Error(`the stream ended ${this.#left} bytes short of its Content-Length`);
    }
    const end = this.#takeHead() + (this.#framing === "chunked" ? "0\r\n\r\n" : "");
    if (end !== "") this.#socket.write(end, "latin1");
    return true;
  }

  async #sendPiece(piece: Uint8Array | string): Promise<void> {
    const bytes = typeof piece === "string" ? Buffer.from(piece, "utf8") : piece;
    if (this.#framing === "length") {
      this.#left -= bytes.length;
      if (this.#left < 0) throw new Error("the stream is longer than its Content-Length");
    }
    let before = this.#takeHead();
    let after = "";
    if (this.#framing === "chunked") {
      before += `${bytes.length.toString(16)}\r\n`;
      after = "\r\n";
    }
    if (bytes.length <= smallPiece) {
      if (!this.#socket.write(before + latin1Of(bytes) + after, "latin1")) await this.#room();
      return;
    }
    if (before !== "") this.#socket.write(before, "latin1");
    for (let sent = 0; sent < bytes.length && !this.#cancelled; sent += sliceSize) {
      if (!this.#socket.write(bytes.subarray(sent, sent + sliceSize))) await this.#room();
    }
    if (after !== "" && !this.#cancelled) this.#socket.write(after, "latin1");
  }

  #takeHead(): string {
    const head = this.#head;
    this.#head = "";
    return head;
  }

  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** Tells the maker of a body that it will not be sent. */
export function discardBody(body: ResponseBody): void {
  if (body === null || typeof body !== "object" || !(Symbol.asyncIterator in body)) return;
  try {
    stopIterator(body[Symbol.asyncIterator]());
  } catch {
    // A body that cannot even be iterated has nothing to stop.
  }
}

function stopIterator(iterator: AsyncIterator<unknown>): void {
  try {
    iterator.return?.()?.then(undefined, ignore);
  } catch {
    // What an abandoned body throws concerns nobody.
  }
}

function ignore(): void {}

function flushHead(sender: StreamSender): void {
  sender.flushHead();
}

function latin1Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
