import { grown } from "../encoding.js";

/** Largest buffer that is kept for the next message. */
const keptSize = 1_048_576;
const firstSize = 16_384;

/**
 * Writes the wire format of protobuf into one buffer. gRPC and telemetry share it: telemetry has no package, and against the
 * one of gRPC it saves half a microsecond per message (docs/dependencies.md).
 */
export class WireWriter {
  buffer: Buffer;
  /** The number of bytes that are written. */
  at = 0;

  constructor(size: number = firstSize) {
    this.buffer = Buffer.allocUnsafeSlow(size);
  }

  /** The bytes written so far. They share memory with the writer. */
  get written(): Buffer {
    return this.buffer.subarray(0, this.at);
  }

  /** Begins another message in the same buffer, behind so many bytes that are left free. */
  restart(free: number): void {
    this.at = free;
  }

  /** A copy of the message, with the free bytes. */
  finish(): Buffer {
    const made = Buffer.allocUnsafe(this.at);
    this.buffer.copy(made, 0, 0, this.at);
    if (this.buffer.length > keptSize) this.buffer = Buffer.allocUnsafeSlow(firstSize);
    return made;
  }

  byte(value: number): void {
    this.reserve(1);
    this.buffer[this.at++] = value;
  }

  /** An integer of 32 bits without sign: a tag, a length, a value. */
  uint32(value: number): void {
    this.reserve(5);
    let rest = value >>> 0;
    const { buffer } = this;
    while (rest > 0x7f) {
      buffer[this.at++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    buffer[this.at++] = rest;
  }

  /** A negative integer takes ten bytes, as one of 64 bits. */
  int32(value: number): void {
    if (value >= 0) this.uint32(value);
    else this.#varint(value >>> 0, 0xffff_ffff);
  }

  /** An integer of 64 bits, without sign. */
  uint64(value: bigint): void {
    this.#varint(Number(value & 0xffff_ffffn), Number(value >> 32n));
  }

  /** A safe integer, as one of 64 bits in two's complement. */
  int64(value: number): void {
    this.#varint(value >>> 0, Math.floor(value / 2 ** 32) >>> 0);
  }

  fixed32(value: number): void {
    this.reserve(4);
    this.at = this.buffer.writeUInt32LE(value >>> 0, this.at);
  }

  fixed64(value: bigint): void {
    this.reserve(8);
    this.at = this.buffer.writeBigUInt64LE(value, this.at);
  }

  /** An integer of 64 bits in two halves. */
  halves(low: number, high: number): void {
    this.fixed32(low);
    this.fixed32(high);
  }

  float(value: number): void {
    this.reserve(4);
    this.at = this.buffer.writeFloatLE(value, this.at);
  }

  double(value: number): void {
    this.reserve(8);
    this.at = this.buffer.writeDoubleLE(value, this.at);
  }

  bytes(value: Uint8Array): void {
    this.uint32(value.length);
    this.raw(value);
  }

  raw(value: Uint8Array): void {
    this.reserve(value.length);
    this.buffer.set(value, this.at);
    this.at += value.length;
  }

  /** A text with its length. Lone surrogates become U+FFFD: the format allows valid UTF-8 only. */
  string(value: string): void {
    const { length } = value;
    // Room for the worst case: three bytes for each unit, and the length.
    this.reserve(length * 3 + 5);
    if (length < 0x80) {
      const { buffer } = this;
      let at = this.at + 1;
      let code = 0;
      for (let i = 0; i < length && code < 0x80; i++) buffer[at++] = code = value.charCodeAt(i);
      if (code < 0x80) {
        buffer[this.at] = length;
        this.at = at;
        return;
      }
    }
    this.uint32(Buffer.byteLength(value));
    this.at += this.buffer.write(value, this.at, "utf8");
  }

  /** Begins a part whose length stands before it. Returns its place for `join`. */
  fork(): number {
    this.reserve(1);
    return this.at++;
  }

  /** Ends the part: writes its length, and moves it if that takes more than the one byte that was left. */
  join(start: number): void {
    const size = this.at - start - 1;
    if (size < 0x80) {
      this.buffer[start] = size;
      return;
    }
    const more = size < 0x4000 ? 1 : size < 0x20_0000 ? 2 : size < 0x1000_0000 ? 3 : 4;
    this.reserve(more);
    this.buffer.copyWithin(start + 1 + more, start + 1, this.at);
    const end = this.at + more;
    this.at = start;
    this.uint32(size);
    this.at = end;
  }

  /** Makes room for as many bytes more. */
  reserve(size: number): void {
    const needed = this.at + size;
    if (needed > this.buffer.length) this.buffer = grown(this.buffer, this.at, needed);
  }

  #varint(low: number, high: number): void {
    this.reserve(10);
    const { buffer } = this;
    while (high > 0 || low > 0x7f) {
      buffer[this.at++] = (low & 0x7f) | 0x80;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    buffer[this.at++] = low;
  }
}
