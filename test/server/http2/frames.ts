import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { ListenAddress } from "../../../src/server/transport.js";

/** The types of frames (RFC 9113 section 6). */
export const DATA = 0;
export const HEADERS = 1;
export const PRIORITY = 2;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
export const GOAWAY = 7;
export const WINDOW_UPDATE = 8;
export const CONTINUATION = 9;

export const END_STREAM = 1;
export const ACK = 1;
export const END_HEADERS = 4;
export const PADDED = 8;

export const ENHANCE_YOUR_CALM = 11;
export const CANCEL = 8;
export const INTERNAL_ERROR = 2;

export const preface: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** A frame as it goes over the wire. */
export function frame(type: number, flags: number, id: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Fields in HPACK, each as a literal that is not indexed (RFC 7541 section 6.2.2). */
export function fields(list: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(list.flatMap(([name, value]) => [Buffer.of(0), text(name), text(value)]));
}

/** A string in HPACK, without the Huffman code. */
export function text(value: string): Buffer {
  return Buffer.concat([integer(value.length), Buffer.from(value, "latin1")]);
}

/** An integer with a prefix of seven bits (RFC 7541 section 5.1). */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.of(value);
  const bytes = [127];
  let rest = value - 127;
  for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128);
  return Buffer.of(...bytes, rest);
}

/** The fields of a request. */
export function request(
  path = "/",
  method = "GET",
  more: readonly (readonly [name: string, value: string])[] = [],
): Buffer {
  return fields([[":method", method], [":scheme", "http"], [":path", path], [":authority", "a"], ...more]);
}

/** A whole GET request in one frame. */
export function get(id: number, path = "/"): Buffer {
  return frame(HEADERS, END_STREAM | END_HEADERS, id, request(path));
}

export function settings(pairs: readonly (readonly [id: number, value: number])[] = []): Buffer {
  return frame(
    SETTINGS,
    0,
    0,
    Buffer.concat(pairs.map(([id, value]) => Buffer.concat([Buffer.of(id >> 8, id & 255), uint32(value)]))),
  );
}

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly id: number;
  readonly payload: Buffer;
}

/** A client that writes and reads frames. It sends nothing by itself, not even replies to PING and SETTINGS. */
export class FrameClient {
  readonly socket: Socket;
  readonly frames: Frame[] = [];
  closed = false;
  #rest = Buffer.alloc(0);
  #changed: (() => void)[] = [];

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setNoDelay(true);
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => this.#received(bytes));
    socket.on("close", () => {
      this.closed = true;
      this.#notify();
    });
    socket.on("end", () => socket.end());
  }

  /** Connects, sends the preface and settings, and waits for the settings of the server. */
  static async open(
    address: ListenAddress,
    pairs: readonly (readonly [id: number, value: number])[] = [],
    socket: Socket = connect(address.port, address.host),
  ): Promise<FrameClient> {
    const client = new FrameClient(socket);
    await once(socket, "connect");
    client.send(preface, settings(pairs));
    await client.until(({ type }) => type === SETTINGS);
    client.send(frame(SETTINGS, ACK, 0));
    return client;
  }

  send(...frames: readonly Uint8Array[]): void {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(frames));
  }

  /** Sends, and waits until the system has taken the bytes. */
  async sendAll(...frames: readonly Uint8Array[]): Promise<void> {
    if (this.socket.destroyed) return;
    if (this.socket.write(Buffer.concat(frames))) return;
    await Promise.race([once(this.socket, "drain"), once(this.socket, "close")]).catch(() => {});
  }

  /** Waits for a frame; undefined if the connection is closed before one comes. */
  async until(predicate: (frame: Frame) => boolean): Promise<Frame | undefined> {
    for (;;) {
      const found = this.frames.find(predicate);
      if (found !== undefined || this.closed) return found;
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
  }

  /** Waits for the end of the connection. Returns the code of the last GOAWAY frame; undefined if there was none. */
  async end(): Promise<number | undefined> {
    await this.until(() => false);
    return this.frames.findLast(({ type }) => type === GOAWAY)?.payload.readUInt32BE(4);
  }

  /** Waits until a stream has ended: with the code of RST_STREAM, or 0. */
  async ended(id: number): Promise<number | undefined> {
    const last = await this.until(
      (frame) =>
        frame.id === id &&
        (frame.type === RST_STREAM || ((frame.type === DATA || frame.type === HEADERS) && (frame.flags & 1) !== 0)),
    );
    return last?.type === RST_STREAM ? last.payload.readUInt32BE(0) : last && 0;
  }

  #received(bytes: Buffer): void {
    let rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    while (rest.length >= 9) {
      const length = rest.readUIntBE(0, 3);
      if (rest.length < 9 + length) break;
      this.frames.push({
        type: rest[3]!,
        flags: rest[4]!,
        id: rest.readUInt32BE(5) & 0x7fffffff,
        payload: Buffer.from(rest.subarray(9, 9 + length)),
      });
      rest = rest.subarray(9 + length);
    }
    this.#rest = rest as Buffer<ArrayBuffer>;
    this.#notify();
  }

  #notify(): void {
    for (const resolve of this.#changed.splice(0)) resolve();
  }
}
