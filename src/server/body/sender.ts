import { stopIterator } from "../../http/discard.js";
import type { PassingStream } from "../../http/files/file-stream.js";
import { type BodyStream, checkPiece } from "../../http/response.js";
import { latin1Of } from "../../kit/encoding.js";
import { giveWay } from "../../kit/time/give-way.js";
import type { Sink } from "../http1/client-socket.js";
import type { BodyHolder, HeldBody } from "./unread-responses.js";

/** The connection, as far as a sender uses it. */
export interface SenderHost {
  /** The body has been handed to the socket. */
  bodySent(): void;
  /** The client has not taken the bytes so far. */
  bodyBehind(): void;
  /** The body cannot be completed. `begun` is true if the head has left already. */
  bodyFailed(error: unknown, begun: boolean): void;
}

/** Sends a body in parts, each when the client has taken the one before. */
export interface BodySender {
  /** Sends the head, and with it the part of the body that is ready at once. */
  start(): void;
  /** The socket has room again. */
  drained(): void;
  /** The client has left. */
  cancel(): void;
  /** True if nothing of the body came since the last call: its source is slow. */
  isQuiet(): boolean;
}

const sliceSize = 64 * 1024;
const smallPiece = 4 * 1024;

/** A body that is complete but too large to be sent at once. */
export class LargeBodySender implements BodySender {
  readonly #encoding: BufferEncoding;
  #sent = 0;
  /** Set once the client is behind. */
  #held: HeldBody | null = null;

  /** `ascii` is true for a string of which each character is one byte. */
  constructor(
    private readonly socket: Sink,
    private readonly host: SenderHost,
    private readonly holder: BodyHolder,
    private readonly head: string,
    private readonly body: string | Uint8Array,
    ascii: boolean,
  ) {
    this.#encoding = ascii ? "latin1" : "utf8";
  }

  start(): void {
    this.socket.cork();
    if (this.head !== "") this.socket.write(this.head, "latin1");
    const more = this.#writeSlice();
    this.socket.uncork();
    if (more) this.drained();
    else this.#fellBehind();
  }

  drained(): void {
    while (this.#sent < this.body.length) {
      if (!this.#writeSlice()) {
        this.#fellBehind();
        return;
      }
    }
    this.cancel();
    this.host.bodySent();
  }

  cancel(): void {
    if (this.#held !== null) this.holder.release(this.#held);
    this.#held = null;
  }

  isQuiet(): boolean {
    return false;
  }

  #fellBehind(): void {
    if (this.#held === null) {
      const body = this.body;
      // A text that is not ASCII may take two bytes for each character.
      if (typeof body !== "string") this.#held = { buffer: body.buffer, size: body.length };
      else this.#held = { buffer: null, size: this.#encoding === "latin1" ? body.length : 2 * body.length };
      this.holder.hold(this.#held);
    }
    this.host.bodyBehind();
  }

  #writeSlice(): boolean {
    const body = this.body;
    let end = Math.min(body.length, this.#sent + sliceSize);
    if (typeof body === "string") {
      if (this.#encoding === "utf8" && end < body.length && isHighSurrogate(body.charCodeAt(end - 1))) end--;
      const slice = body.slice(this.#sent, end);
      this.#sent = end;
      return this.socket.write(slice, this.#encoding);
    }
    const slice = body.subarray(this.#sent, end);
    this.#sent = end;
    return this.socket.write(slice);
  }
}

/** The way in which the receiver finds the end of a streamed body. */
export type StreamFraming = "chunked" | "length" | "close";

/**
 * A body that is made while it is sent. Small pieces that come one right after the other leave in one write, at the latest
 * when nothing is left to be done without waiting.
 */
export class StreamSender implements BodySender {
  readonly #socket: Sink;
  readonly #host: SenderHost;
  readonly #framing: StreamFraming;
  readonly #iterator: AsyncIterator<Uint8Array | string>;
  /** The text that leaves with the next write, a character for each byte: at first the head. */
  #gathered: string;
  #flushIsDue = false;
  #begun: boolean;
  #hasPiece = false;
  #isQuiet = false;
  /** Bytes that Content-Length still promises. */
  #left: number;
  #behind = false;
  #cancelled = false;
  #wake: (() => void) | null = null;

  constructor(socket: Sink, host: SenderHost, head: string, body: BodyStream, framing: StreamFraming, length: number) {
    this.#socket = socket;
    this.#host = host;
    this.#gathered = head;
    this.#begun = head === "";
    this.#framing = framing;
    this.#left = length;
    this.#iterator = body[Symbol.asyncIterator]();
  }

  start(): void {
    // The head does not wait for the first piece longer than until the event loop comes around.
    setImmediate(flush, this);
    this.#run().then(
      (whole) => {
        if (whole) this.#host.bodySent();
      },
      (error: unknown) => {
        if (this.#cancelled) return;
        // A response that has a piece is cut off, however soon it fails: it was logged with its status.
        if (this.#hasPiece) this.flush();
        this.#cancelled = true;
        stopIterator(this.#iterator);
        this.#host.bodyFailed(error, this.#begun);
      },
    );
  }

  drained(): void {
    this.#behind = false;
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }

  cancel(): void {
    if (this.#cancelled) return;
    this.#cancelled = true;
    stopIterator(this.#iterator);
    this.drained();
  }

  isQuiet(): boolean {
    const isQuiet = this.#isQuiet;
    this.#isQuiet = !this.#behind;
    return isQuiet;
  }

  /** Sends the gathered text. */
  flush(): void {
    this.#flushIsDue = false;
    if (this.#gathered === "" || this.#cancelled) return;
    this.#begun = true;
    const text = this.#gathered;
    this.#gathered = "";
    this.#behind = !this.#socket.write(text, "latin1");
  }

  /** Resolves to true if the body was sent to its end. */
  async #run(): Promise<boolean> {
    for (;;) {
      while (this.#passOn()) {
        const turn = giveWay();
        if (turn !== null) await turn;
        if (this.#cancelled) return false;
      }
      const { done, value } = await this.#iterator.next();
      if (this.#cancelled) return false;
      if (done) break;
      checkPiece(value);
      if (value.length > sliceSize) await this.#sendSlices(value);
      else if (value.length > 0) this.#sendPiece(value);
      const turn = this.#behind ? this.#room() : giveWay();
      if (turn !== null) await turn;
      if (this.#cancelled) return false;
    }
    if (this.#framing === "length" && this.#left > 0) {
      throw new Error(`the stream ended ${this.#left} bytes short of its Content-Length`);
    }
    if (this.#framing === "chunked") this.#gathered += "0\r\n\r\n";
    this.flush();
    return true;
  }

  /** Sends bytes of a file without reading them; false if the next ones must be read. */
  #passOn(): boolean {
    const stream = this.#iterator as Partial<PassingStream>;
    const { sendFile } = this.#socket;
    if (sendFile === undefined || stream.passOn === undefined || this.#framing !== "length") return false;
    this.flush();
    const sent = stream.passOn(sendFile.bind(this.#socket));
    if (sent === 0) return false;
    this.#begun = true;
    this.#announce(sent);
    return true;
  }

  #sendPiece(piece: Uint8Array | string): void {
    const size = typeof piece === "string" ? Buffer.byteLength(piece) : piece.length;
    this.#announce(size);
    if (size <= smallPiece) {
      this.#gathered += latin1Of(piece, size) + this.#chunkEnd;
      if (this.#gathered.length >= sliceSize) {
        this.flush();
      } else if (!this.#flushIsDue) {
        this.#flushIsDue = true;
        process.nextTick(flush, this);
      }
      return;
    }
    // Corked, the text before and behind the piece leaves in the same system call.
    this.#socket.cork();
    this.flush();
    this.#write(piece);
    this.#gathered = this.#chunkEnd;
    this.flush();
    this.#socket.uncork();
  }

  /** Sends a piece as the client takes it: not all of it should wait in the socket. */
  async #sendSlices(piece: Uint8Array | string): Promise<void> {
    const bytes = typeof piece === "string" ? Buffer.from(piece, "utf8") : piece;
    this.#announce(bytes.length);
    this.flush();
    for (let sent = 0; sent < bytes.length && !this.#cancelled; sent += sliceSize) {
      this.#write(bytes.subarray(sent, sent + sliceSize));
      if (this.#behind) await this.#room();
    }
    this.#gathered = this.#chunkEnd;
    this.flush();
  }

  /** Gathers the text that stands before a piece of this size. */
  #announce(size: number): void {
    if (this.#framing === "length") {
      this.#left -= size;
      if (this.#left < 0) throw new Error("the stream is longer than its Content-Length");
    }
    this.#hasPiece = true;
    this.#isQuiet = false;
    if (this.#framing === "chunked") {
      this.#gathered += `${size.toString(16)}\r\n`;
    }
  }

  get #chunkEnd(): string {
    return this.#framing === "chunked" ? "\r\n" : "";
  }

  #write(piece: Uint8Array | string): void {
    this.#begun = true;
    this.#behind = !(typeof piece === "string" ? this.#socket.write(piece, "utf8") : this.#socket.write(piece));
  }

  #room(): Promise<void> {
    this.#host.bodyBehind();
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

function flush(sender: StreamSender): void {
  sender.flush();
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
