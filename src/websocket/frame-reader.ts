import { isUtf8 } from "node:buffer";

const TEXT = 1;
const BINARY = 2;
export const CLOSE = 8;
export const PING = 9;
export const PONG = 10;

/** Bytes of the first buffer for a message that arrives in pieces; it grows with what has arrived. */
const firstBuffer = 4096;

/** Of one message; as in `ws`. */
const maxFragments = 16 * 1024;

/** A frame that breaks RFC 6455, with the code and the message that `ws` has for it. */
export class FrameError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** Takes what a reader has read. */
export interface FrameHandler {
  /** Text that is short and plain is given as a string. The bytes belong to the handler. */
  message(data: Buffer | string, isBinary: boolean): void;
  /** Of a close, ping or pong frame. The bytes belong to the handler. */
  control(opcode: number, payload: Buffer): void;
}

/**
 * Reads the frames of a client (RFC 6455 section 5), without extensions. A message is kept in one buffer, so that a client
 * pays for its bytes and not for its fragments.
 */
export class FrameReader {
  /** The beginning of a head. */
  #held: Buffer | null = null;
  #opcode = 0;
  #isFinal = false;
  /** Bytes of the payload of this frame that have not arrived. */
  #left = 0;
  readonly #mask = new Uint8Array(4);
  #maskAt = 0;
  /** The opcode of the message of which there are fragments; 0 if there are none. */
  #fragmented = 0;
  #fragments = 0;
  #message: Buffer | null = null;
  #size = 0;
  #control: Buffer | null = null;
  #stopped = false;

  constructor(
    private readonly maxSize: number,
    private readonly handler: FrameHandler,
  ) {}

  /** Reads no more frames: what comes is ignored. */
  stop(): void {
    this.#stopped = true;
    this.#held = this.#message = this.#control = null;
  }

  /** Reads bytes, which it changes and does not keep. Throws a FrameError, after which it must be stopped. */
  read(bytes: Buffer, start: number, end: number): void {
    let at = start;
    if (this.#held !== null) {
      bytes = Buffer.concat([this.#held, bytes.subarray(start, end)]);
      this.#held = null;
      at = 0;
      end = bytes.length;
    }
    while (!this.#stopped && (at < end || this.#left > 0)) {
      if (this.#left > 0) {
        if (at === end) return;
        at = this.#readPayload(bytes, at, end);
        continue;
      }
      const next = this.#readHead(bytes, at, end);
      if (next < 0) {
        this.#held = Buffer.from(bytes.subarray(at, end));
        return;
      }
      at = next;
      if (this.#isWhole(at, end)) at = this.#readWhole(bytes, at);
      else if (this.#left === 0) this.#endFrame();
    }
  }

  /** Returns the start of the payload; below 0 if the head has not arrived. */
  #readHead(bytes: Buffer, at: number, end: number): number {
    if (end - at < 2) return -1;
    const first = bytes[at]!;
    const short = bytes[at + 1]! & 0x7f;
    this.#check(first, bytes[at + 1]!, short);
    const maskAt = at + (short < 126 ? 2 : short === 126 ? 4 : 10);
    if (end < maskAt) return -1;
    const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : longLength(bytes, at + 2);
    const opcode = first & 0x0f;
    if (opcode < CLOSE && this.#size + length > this.maxSize) {
      throw new FrameError("WS_ERR_UNSUPPORTED_MESSAGE_LENGTH", "Max payload size exceeded");
    }
    if (end < maskAt + 4) return -1;
    this.#isFinal = first >= 0x80;
    this.#opcode = opcode;
    if (opcode === TEXT || opcode === BINARY) this.#fragmented = opcode;
    for (let i = 0; i < 4; i++) this.#mask[i] = bytes[maskAt + i]!;
    this.#maskAt = 0;
    this.#left = length;
    return maskAt + 4;
  }

  #check(first: number, second: number, short: number): void {
    if ((first & 0x30) !== 0) throw invalid("UNEXPECTED_RSV_2_3", "RSV2 and RSV3 must be clear");
    if ((first & 0x40) !== 0) throw invalid("UNEXPECTED_RSV_1", "RSV1 must be clear");
    const opcode = first & 0x0f;
    if (opcode >= CLOSE && opcode <= PONG) {
      if (first < 0x80) throw invalid("EXPECTED_FIN", "FIN must be set");
      if (short > 125 || (opcode === CLOSE && short === 1)) {
        throw invalid("INVALID_CONTROL_PAYLOAD_LENGTH", `invalid payload length ${short}`);
      }
    } else if (opcode > BINARY || (opcode === 0) !== (this.#fragmented !== 0)) {
      throw invalid("INVALID_OPCODE", `invalid opcode ${opcode}`);
    }
    if (second < 0x80) throw invalid("EXPECTED_MASK", "MASK must be set");
  }

  /** True if the frame is a message, and all of it has arrived. */
  #isWhole(at: number, end: number): boolean {
    return this.#isFinal && this.#opcode !== 0 && this.#opcode < CLOSE && this.#left <= end - at;
  }

  #readWhole(bytes: Buffer, at: number): number {
    const end = at + this.#left;
    const bits = this.#unmask(bytes, at, end);
    const isBinary = this.#opcode === BINARY;
    this.#left = this.#fragmented = 0;
    if (!isBinary && bits < 0x80) {
      this.handler.message(bytes.toString("latin1", at, end), false);
    } else {
      const data = Buffer.from(bytes.subarray(at, end));
      if (!isBinary) checkText(data);
      this.handler.message(data, isBinary);
    }
    return end;
  }

  #readPayload(bytes: Buffer, at: number, end: number): number {
    const taken = Math.min(this.#left, end - at);
    this.#unmask(bytes, at, at + taken);
    this.#left -= taken;
    if (this.#opcode >= CLOSE) {
      const piece = bytes.subarray(at, at + taken);
      this.#control = this.#control === null ? Buffer.from(piece) : Buffer.concat([this.#control, piece]);
    } else {
      const kept = this.#roomFor(taken);
      bytes.copy(kept, this.#size, at, at + taken);
      this.#size += taken;
    }
    if (this.#left === 0) this.#endFrame();
    return at + taken;
  }

  /**
   * No more than twice what has arrived: the announced length alone costs the client nothing. No less either while fragments
   * may follow: each of them would copy the whole message.
   */
  #roomFor(more: number): Buffer {
    const wanted = this.#size + more;
    const before = this.#message;
    if (before !== null && before.length >= wanted) return before;
    const most = this.#isFinal ? wanted + this.#left : this.maxSize;
    const capacity = Math.min(most, Math.max(2 * wanted, firstBuffer));
    const larger = Buffer.allocUnsafeSlow(capacity);
    before?.copy(larger, 0, 0, this.#size);
    this.#message = larger;
    return larger;
  }

  #endFrame(): void {
    if (this.#opcode >= CLOSE) {
      const payload = this.#control ?? Buffer.alloc(0);
      this.#control = null;
      this.handler.control(this.#opcode, payload);
      return;
    }
    if (++this.#fragments > maxFragments) {
      throw new FrameError("WS_ERR_TOO_MANY_BUFFERED_PARTS", "Too many message fragments");
    }
    if (!this.#isFinal) return;
    const kept = this.#message ?? Buffer.alloc(0);
    const data = kept.length === this.#size ? kept : Buffer.from(kept.subarray(0, this.#size));
    const isBinary = this.#fragmented === BINARY;
    this.#message = null;
    this.#size = this.#fragmented = this.#fragments = 0;
    if (!isBinary) checkText(data);
    this.handler.message(data, isBinary);
  }

  /** Returns the bits that are set in any of the bytes. */
  #unmask(bytes: Buffer, start: number, end: number): number {
    const mask = this.#mask;
    let turn = this.#maskAt;
    let bits = 0;
    for (let i = start; i < end; i++) {
      const byte = bytes[i]! ^ mask[turn & 3]!;
      bytes[i] = byte;
      bits |= byte;
      turn++;
    }
    this.#maskAt = turn & 3;
    return bits;
  }
}

const reservedCodes: ReadonlySet<number> = new Set([1004, 1005, 1006]);

/** The code and the reason of a close frame; 1005 if it has none. */
export function readClose(payload: Buffer): { code: number; reason: Buffer } {
  if (payload.length === 0) return { code: 1005, reason: payload };
  const code = payload.readUInt16BE(0);
  const isKnown = (code >= 1000 && code <= 1014 && !reservedCodes.has(code)) || (code >= 3000 && code <= 4999);
  if (!isKnown) throw invalid("INVALID_CLOSE_CODE", `invalid status code ${code}`);
  const reason = payload.subarray(2);
  checkText(reason);
  return { code, reason };
}

function longLength(bytes: Buffer, at: number): number {
  const high = bytes.readUInt32BE(at);
  if (high > 0x1f_ffff) {
    throw new FrameError(
      "WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH",
      "Unsupported WebSocket frame: payload length > 2^53 - 1",
    );
  }
  return high * 2 ** 32 + bytes.readUInt32BE(at + 4);
}

function checkText(bytes: Buffer): void {
  if (!isUtf8(bytes)) throw invalid("INVALID_UTF8", "invalid UTF-8 sequence");
}

function invalid(code: string, message: string): FrameError {
  return new FrameError(`WS_ERR_${code}`, `Invalid WebSocket frame: ${message}`);
}

export { BINARY, TEXT };
