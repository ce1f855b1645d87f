import type { DirectReceiver, DirectSocket } from "../http/source.js";
import { nodeCrypto } from "../kit/node-modules.js";
import {
  BINARY,
  CLOSE,
  type FrameError,
  type FrameHandler,
  FrameReader,
  PING,
  PONG,
  readClose,
  TEXT,
} from "./frame-reader.js";
import { writeFrame } from "./frame-writer.js";
import type { SocketSettings } from "./options.js";
import { CLOSED, CLOSING, closeCodeOf, OPEN, type PatientSocket, type UpgradeRequest } from "./ws.js";

type Done = (error?: Error | null) => void;
type Listener = (...args: never[]) => void;

interface Waiting {
  /** All bytes that were written up to the end of its frame. */
  readonly end: number;
  readonly done: Done;
}

const nothing = Buffer.alloc(0);

/**
 * A client's WebSocket on a socket that is no stream: what a socket of `ws` without extensions is on a stream. Frames are read
 * where they were received, and written where they are sent.
 */
export class FrameSocket implements PatientSocket, DirectReceiver, FrameHandler {
  readonly extensions = "";
  readonly protocol: string;
  readyState: number = OPEN;
  beforeFailing?: (fail: () => void) => void;
  readonly #socket: DirectSocket;
  readonly #reader: FrameReader;
  readonly #closeTimeout: number;
  readonly #listeners: Record<string, Listener | undefined> = {};
  /** Called when the system has taken their frames, or the connection has ended. */
  readonly #waiting: Waiting[] = [];
  #closeTimer: NodeJS.Timeout | null = null;
  #closeSent = false;
  /** A close frame or a bad one has come: no further one is read. */
  #inputIsOver = false;
  #closeCode = 1006;
  #closeReason: Buffer = nothing;

  constructor(socket: DirectSocket, protocol: string, { closeTimeout, limits }: SocketSettings) {
    this.#socket = socket;
    this.protocol = protocol;
    this.#closeTimeout = closeTimeout;
    this.#reader = new FrameReader(limits.maxMessageSize, this);
  }

  /** One listener for each event. */
  on(event: string, listener: Listener): this {
    this.#listeners[event] = listener;
    return this;
  }

  get bufferedAmount(): number {
    return this.#socket.writableLength;
  }

  /** Bytes that the system has taken. */
  get taken(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }

  /** Sends the response to the handshake (RFC 6455 section 4.2.2). */
  accept({ headers, fieldLines }: UpgradeRequest): void {
    const key = `${headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const lines = [
      "HTTP/1.1 101 Switching Protocols",
      "Upgrade: websocket",
      "Connection: Upgrade",
      `Sec-WebSocket-Accept: ${nodeCrypto().createHash("sha1").update(key).digest("base64")}`,
      ...(this.protocol === "" ? [] : [`Sec-WebSocket-Protocol: ${this.protocol}`]),
      ...fieldLines,
    ];
    this.#socket.write(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  }

  send(data: string | Uint8Array, done: Done): void {
    if (this.trySend(data, done)) done();
  }

  /** Sends a message. True if nothing waits for the client: then `done` is not called. */
  trySend(data: string | Uint8Array, done: Done): boolean {
    return this.#write(typeof data === "string" ? TEXT : BINARY, data, done);
  }

  ping(done: Done): void {
    this.#writeControl(PING, nothing, done);
  }

  pong(data: Uint8Array, done: Done): void {
    this.#writeControl(PONG, data, done);
  }

  close(code?: number, reason = ""): void {
    if (this.readyState === OPEN) {
      this.readyState = CLOSING;
      this.#closeTimer = setTimeout(() => this.#socket.destroy(), this.#closeTimeout);
      const payload = code === undefined ? nothing : Buffer.from(`\0\0${reason}`);
      if (code !== undefined) payload.writeUInt16BE(code);
      this.#write(CLOSE, payload, ignore);
      this.#closeSent = true;
    }
    if (this.#closeSent && this.#inputIsOver) this.#socket.end();
  }

  terminate(): void {
    if (this.readyState !== CLOSED) this.readyState = CLOSING;
    this.#socket.destroy();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  // Called by the transport.

  received(bytes: Buffer, start: number, end: number): void {
    if (this.#inputIsOver) return;
    this.#emit("data");
    try {
      this.#reader.read(bytes, start, end);
    } catch (error) {
      this.#fail(error as FrameError);
    }
  }

  ended(): void {
    if (this.readyState === OPEN) this.readyState = CLOSING;
    this.#socket.end();
  }

  drained(): void {
    this.#settle(this.taken);
  }

  fellBehind(): void {}

  gone(): void {
    if (this.readyState === CLOSED) return;
    this.readyState = CLOSED;
    if (this.#closeTimer !== null) clearTimeout(this.#closeTimer);
    this.#reader.stop();
    this.#settle(Number.POSITIVE_INFINITY, new Error("the connection has ended"));
    this.#emit("close", this.#closeCode, this.#closeReason);
  }

  broken(error: unknown): void {
    this.#emit("error", error);
    this.#socket.destroy();
  }

  // Called by the reader.

  message(data: Buffer | string, isBinary: boolean): void {
    this.#emit("message", data, isBinary);
  }

  control(opcode: number, payload: Buffer): void {
    if (opcode !== CLOSE) {
      this.#emit(opcode === PING ? "ping" : "pong", payload);
      return;
    }
    const { code, reason } = readClose(payload);
    this.#endInput();
    this.#closeCode = code;
    this.#closeReason = reason;
    if (code === 1005) this.close();
    else this.close(code, reason.toString("utf8"));
  }

  #fail(error: FrameError): void {
    this.#endInput();
    const fail = (): void => this.close(closeCodeOf(error.code));
    if (this.beforeFailing === undefined) fail();
    else this.beforeFailing(fail);
    this.#emit("error", error);
  }

  /** What still comes is read and ignored, so that the end of the connection is noticed. */
  #endInput(): void {
    this.#inputIsOver = true;
    this.#reader.stop();
    this.#socket.resume();
  }

  #write(opcode: number, data: string | Uint8Array, done: Done): boolean {
    if (writeFrame(this.#socket, opcode, data)) return true;
    this.#wait(done);
    return false;
  }

  /**
   * Sent at once: a client that reads nothing could otherwise get a pong for each ping of a turn. Nothing follows a close
   * frame.
   */
  #writeControl(opcode: number, data: Uint8Array, done: Done): void {
    if (this.readyState !== OPEN) {
      done(new Error("the WebSocket is closed"));
      return;
    }
    writeFrame(this.#socket, opcode, data);
    if (this.#socket.writableLength === 0) done();
    else this.#wait(done);
  }

  /** Those before are told here too: of a steady sender something may always wait, and then nothing is ever drained. */
  #wait(done: Done): void {
    this.#settle(this.taken);
    this.#waiting.push({ end: this.#socket.bytesWritten, done });
  }

  #settle(taken: number, error?: Error): void {
    const waiting = this.#waiting;
    while (waiting.length > 0 && waiting[0]!.end <= taken) waiting.shift()!.done(error);
  }

  #emit(event: string, ...values: unknown[]): void {
    (this.#listeners[event] as ((...args: unknown[]) => void) | undefined)?.(...values);
  }
}

function ignore(): void {}
