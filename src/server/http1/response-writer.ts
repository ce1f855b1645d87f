import { discardBody } from "../../http/discard.js";
import type { BodyStream, Response } from "../../http/response.js";
import { isBodiless } from "../../http/status.js";
import { latin1Of } from "../../kit/encoding.js";
import { type BodySender, LargeBodySender, type SenderHost, type StreamFraming, StreamSender } from "../body/sender.js";
import type { UnreadResponses } from "../body/unread-responses.js";
import { WriteWatch } from "../body/write-watch.js";
import type { Clock } from "../clock.js";
import type { ClientSocket } from "./client-socket.js";
import { type FieldLines, flat, type PreparedHeads } from "./response-head.js";

/** The parts that the writers of one server share. */
export interface WriterContext {
  readonly clock: Clock;
  readonly heads: PreparedHeads;
  readonly fieldLines: FieldLines;
  readonly unread: UnreadResponses;
}

/** The connection, as far as a writer uses it. */
export interface WriterHost {
  /** The response has been handed to the socket. `keep` is false if it told the client that the connection closes. */
  responded(keep: boolean): void;
  /** The body could not be completed. `begun` is false while the head has not left. */
  responseFailed(error: unknown, begun: boolean): void;
}

/** Bytes of responses that are gathered for one write. */
const maxGathered = 64 * 1024;
/** A body is joined to the head up to this size; beyond, the copy costs more than a second write. */
const maxJoined = 16 * 1024;
/** A body is given to the socket whole up to this size. */
const maxWhole = 256 * 1024;

/** Writes the responses of one connection: if it can, head and body in one write. */
export class ResponseWriter implements SenderHost {
  readonly #socket: ClientSocket;
  readonly #context: WriterContext;
  readonly #host: WriterHost;
  readonly #watch: WriteWatch;
  #sender: BodySender | null = null;
  /** The response that is being sent leaves the connection open. */
  #keep = true;
  /** The client is behind in taking its responses. */
  behind = false;
  #gathering = false;
  /** Responses that leave in one write. */
  #gathered = "";

  constructor(socket: ClientSocket, context: WriterContext, host: WriterHost) {
    this.#socket = socket;
    this.#context = context;
    this.#host = host;
    this.#watch = new WriteWatch(socket, context.unread);
  }

  /** A body is being sent in parts. */
  get busy(): boolean {
    return this.#sender !== null;
  }

  /** From here to `release`, responses are joined into one write. */
  gather(): void {
    this.#gathering = true;
  }

  release(): void {
    this.#gathering = false;
    if (this.#gathered !== "") this.#flush();
  }

  /** Sends a response; throws, before anything of it is written, when its head cannot be sent. */
  send(response: Response, isHead: boolean, old: boolean, keep: boolean): void {
    const { clock, heads, fieldLines } = this.#context;
    let lines = "";
    let length = -1;
    let dated = false;
    if (response.fields !== null) {
      fieldLines.render(response.fields);
      lines = fieldLines.text;
      length = fieldLines.length;
      dated = fieldLines.dated;
      if (fieldLines.close) keep = false;
    }
    const body = response.body;
    const start = heads.get(response.status, response.type, dated ? "" : clock.dateLine) + lines;
    if (typeof body === "string" && !isBodiless(response.status)) {
      this.#sendText(start + connectionLine(old, keep), body, isHead, keep);
    } else if (body === null || isBodiless(response.status)) {
      discardBody(response);
      this.#put(start + connectionLine(old, keep) + emptyLength(response.status, isHead, length));
      this.#host.responded(keep);
    } else if (body instanceof Uint8Array) {
      this.#sendBytes(start + connectionLine(old, keep), body, isHead, keep);
    } else {
      this.#sendStream(start, response, length, isHead, old, keep);
    }
  }

  /** Sends an interim response (1xx). */
  sendInterim(text: string): void {
    this.#put(text);
  }

  /** Sends the gathered responses, and the end. */
  end(): void {
    const rest = this.#gathered;
    this.#gathered = "";
    if (rest === "") this.#socket.end();
    else this.#socket.end(rest, "latin1");
    this.#watch.count();
  }

  fellBehind(): void {
    this.behind = true;
    this.#watch.count();
  }

  drained(): void {
    this.behind = false;
    this.#watch.count();
    this.#sender?.drained();
  }

  /** The client has left, or the socket has. */
  cancel(): void {
    const sender = this.#sender;
    this.#sender = null;
    sender?.cancel();
    this.#context.unread.set(this.#socket, 0);
  }

  /** Called at every tick: true if the client has taken nothing for more than so many of them. */
  isStalled(ticks: number): boolean {
    return this.#watch.isStalled(ticks);
  }

  /** True if a body is sent of which nothing came since the last call. */
  isQuiet(): boolean {
    return this.#sender?.isQuiet() ?? false;
  }

  bodySent(): void {
    this.#sender = null;
    this.#host.responded(this.#keep);
  }

  bodyBehind(): void {
    this.#watch.count();
  }

  bodyFailed(error: unknown, begun: boolean): void {
    this.#sender = null;
    this.#host.responseFailed(error, begun);
  }

  #sendText(start: string, body: string, isHead: boolean, keep: boolean): void {
    const size = byteLength(body);
    const head = start + lengthLine(size);
    // As many bytes as characters: ASCII, which latin1 writes unchanged and far faster than utf8.
    const ascii = size === body.length;
    if (isHead) {
      this.#put(head);
    } else if (size > maxWhole) {
      this.#sendInParts(new LargeBodySender(this.#socket, this, this.#watch, head, body, ascii), keep);
      return;
    } else if (ascii || size <= maxJoined) {
      this.#put(head + latin1Of(body, size));
    } else {
      this.#putBoth(head, body);
    }
    this.#host.responded(keep);
  }

  #sendBytes(start: string, body: Uint8Array, isHead: boolean, keep: boolean): void {
    const head = start + lengthLine(body.length);
    if (isHead) {
      this.#put(head);
    } else if (body.length > maxWhole) {
      this.#sendInParts(new LargeBodySender(this.#socket, this, this.#watch, head, body, false), keep);
      return;
    } else if (body.length <= maxJoined) {
      this.#put(head + latin1Of(body, body.length));
    } else {
      this.#putBoth(head, body);
    }
    this.#host.responded(keep);
  }

  #sendStream(start: string, response: Response, length: number, isHead: boolean, old: boolean, keep: boolean): void {
    const framing: StreamFraming = length !== -1 ? "length" : old ? "close" : "chunked";
    if (framing === "close") keep = false;
    const head = `${start}${connectionLine(old, keep)}${framingLine(framing, length)}\r\n`;
    if (isHead) {
      discardBody(response);
      this.#put(head);
      this.#host.responded(keep);
    } else {
      this.#sendInParts(new StreamSender(this.#socket, this, head, response.body as BodyStream, framing, length), keep);
    }
  }

  #sendInParts(sender: BodySender, keep: boolean): void {
    this.#flush();
    this.#keep = keep;
    this.#sender = sender;
    sender.start();
  }

  #put(text: string): void {
    if (!this.#gathering) {
      this.#write(text);
      return;
    }
    this.#gathered = this.#gathered === "" ? text : this.#gathered + text;
    if (this.#gathered.length > maxGathered) this.#flush();
  }

  #putBoth(head: string, body: string | Uint8Array): void {
    const socket = this.#socket;
    socket.cork();
    socket.write(this.#gathered + head, "latin1");
    this.#gathered = "";
    const room = typeof body === "string" ? socket.write(body, "utf8") : socket.write(body);
    socket.uncork();
    this.behind = !room;
    if (!room) this.#watch.count();
  }

  #flush(): void {
    if (this.#gathered === "") return;
    const text = this.#gathered;
    this.#gathered = "";
    this.#write(text);
  }

  #write(text: string): void {
    this.behind = !this.#socket.write(text, "latin1");
    if (this.behind) this.#watch.count();
  }
}

/** Texts are encoded into this buffer to count their bytes; it is never read. */
const counting = Buffer.allocUnsafeSlow(3 * maxJoined);

/**
 * The bytes of a text as UTF-8. A short one is counted: 15 nanoseconds for 32 characters on Node 20, and 50 to encode it.
 * Others are encoded: that takes 0.6 microseconds for 10 KiB on Node 20 and 0.2 on Node 24, where counting takes 1.5 and 2.2.
 */
function byteLength(text: string): number {
  return text.length > 128 && text.length <= maxJoined ? counting.write(text) : Buffer.byteLength(text);
}

function connectionLine(old: boolean, keep: boolean): string {
  if (!keep) return "Connection: close\r\n";
  return old ? "Connection: keep-alive\r\n" : "";
}

function framingLine(framing: StreamFraming, length: number): string {
  if (framing === "length") return `Content-Length: ${length}\r\n`;
  return framing === "chunked" ? "Transfer-Encoding: chunked\r\n" : "";
}

const lengthLines: string[] = [];

/** Content-Length and the empty line; for the usual sizes made once. */
function lengthLine(size: number): string {
  if (size >= 4096) return `Content-Length: ${size}\r\n\r\n`;
  return (lengthLines[size] ??= flat(`Content-Length: ${size}\r\n\r\n`));
}

/** RFC 9110 section 8.6: no Content-Length with 1xx and 204; with 304 and HEAD it is that of the body that is not sent. */
function emptyLength(status: number, isHead: boolean, length: number): string {
  if (status === 204 || status < 200) return "\r\n";
  if ((status === 304 || isHead) && length !== -1) return lengthLine(length);
  return status === 304 ? "\r\n" : lengthLine(0);
}
