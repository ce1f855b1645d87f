/** The most levels of nested groups. */
const maxGroups = 100;

/** Memory of a `Uint8Array`, whose bytes are those of the message. */
export const bytesSize = 128;

const strict = new TextDecoder("utf-8", { fatal: true });

/** Reads the wire format of protobuf. Every read is checked against the end of the part that is read. */
export class WireReader {
  readonly #buffer: Buffer;
  at = 0;
  /** The end of the message or part. */
  end: number;
  /** Unknown fields that may still be kept. */
  unknownLeft: number;
  #memoryLeft: number;

  /** `memory` bounds what messages, lists and bytes take in memory: an empty message has two bytes on the wire. */
  constructor(bytes: Uint8Array, unknownLeft = 0, memory = Number.POSITIVE_INFINITY) {
    this.unknownLeft = unknownLeft;
    this.#memoryLeft = memory;
    this.#buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.length;
  }

  /** The low 32 bits of an integer, without sign. */
  uint32(): number {
    const buffer = this.#buffer;
    const first = this.#byte();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let shift = 7; shift < 35; shift += 7) {
      if (this.at >= this.end) throw cutOff();
      const byte = buffer[this.at++]!;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    // Up to five more bytes: the integer is negative or has more than 32 bits. They are ignored.
    for (let i = 0; i < 5; i++) if (this.#byte() < 0x80) return value >>> 0;
    throw new RangeError("an integer takes more than ten bytes");
  }

  /** The number and the wire type of a field, or a length: an integer of more than 32 bits is refused. */
  header(): number {
    const start = this.at;
    const value = this.uint32();
    const bytes = this.at - start;
    if (bytes < 5) return value;
    this.at = start;
    if (this.uint64() > 0xffff_ffffn) throw new RangeError("the number of a field or a length has more than 32 bits");
    return value;
  }

  /** An integer of 64 bits, without sign. */
  uint64(): bigint {
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte();
      const bits = byte & 0x7f;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (shift - 32);
      if (byte < 0x80) return joined(low >>> 0, high >>> 0);
    }
    throw new RangeError("an integer takes more than ten bytes");
  }

  /** True if any bit is set. */
  bool(): boolean {
    let set = false;
    for (let i = 0; i < 10; i++) {
      const byte = this.#byte();
      if ((byte & 0x7f) !== 0) set = true;
      if (byte < 0x80) return set;
    }
    throw new RangeError("an integer takes more than ten bytes");
  }

  fixed32(): number {
    return this.#buffer.readUInt32LE(this.#skip(4));
  }

  sfixed32(): number {
    return this.#buffer.readInt32LE(this.#skip(4));
  }

  fixed64(): bigint {
    return this.#buffer.readBigUInt64LE(this.#skip(8));
  }

  sfixed64(): bigint {
    return this.#buffer.readBigInt64LE(this.#skip(8));
  }

  float(): number {
    return this.#buffer.readFloatLE(this.#skip(4));
  }

  double(): number {
    return this.#buffer.readDoubleLE(this.#skip(8));
  }

  bytes(): Uint8Array {
    this.take(bytesSize);
    const length = this.header();
    const start = this.#skip(length);
    const { buffer, byteOffset } = this.#buffer;
    return new Uint8Array(buffer, byteOffset + start, length);
  }

  /** Throws for bytes that are not UTF-8. */
  string(): string {
    const length = this.header();
    const start = this.#skip(length);
    const text = this.#buffer.toString("utf8", start, start + length);
    // The replacement character may have been sent as such; then the check passes.
    if (text.includes("\ufffd")) return strict.decode(this.#buffer.subarray(start, start + length));
    return text;
  }

  /** Counts a value that takes so much memory. */
  take(memory: number): void {
    this.#memoryLeft -= memory;
    if (this.#memoryLeft < 0) throw new RangeError("the message has too many parts for its size");
  }

  /** All bytes up to the end. */
  rest(): Uint8Array {
    const length = this.end - this.at;
    const start = this.#skip(length);
    const { buffer, byteOffset } = this.#buffer;
    return new Uint8Array(buffer, byteOffset + start, length);
  }

  /** The end of a part that begins with its length. */
  boundary(): number {
    const length = this.header();
    const stop = this.at + length;
    if (stop > this.end) throw cutOff();
    return stop;
  }

  /** Skips a field, and returns its bytes. Those of a group include its end. */
  skipField(tag: number): Uint8Array {
    const start = this.at;
    this.skip(tag);
    const { buffer, byteOffset } = this.#buffer;
    return new Uint8Array(buffer, byteOffset + start, this.at - start);
  }

  /** Skips the value of a field, after its tag. */
  skip(tag: number, depth = 0): void {
    const wireType = tag & 7;
    switch (wireType) {
      case 0:
        this.uint32();
        break;
      case 1:
        this.#skip(8);
        break;
      case 2:
        this.#skip(this.header());
        break;
      case 3:
        this.#skipGroup(tag, depth);
        break;
      case 5:
        this.#skip(4);
        break;
      default:
        throw new RangeError(wireType === 4 ? "a group ends that has not begun" : `there is no wire type ${wireType}`);
    }
  }

  /** Fields up to the end of the group. Groups exist only in proto2. A proto3 type sees them only as unknown fields. */
  #skipGroup(start: number, depth: number): void {
    if (depth > maxGroups) throw new RangeError("the message is nested too deeply");
    for (;;) {
      const tag = this.header();
      if (tag === ((start | 7) ^ 3) >>> 0) return;
      if (tag >>> 3 === 0) throw new RangeError("a field has the number 0");
      this.skip(tag, depth + 1);
    }
  }

  #byte(): number {
    if (this.at >= this.end) throw cutOff();
    return this.#buffer[this.at++]!;
  }

  /** Moves on, and returns the place before. */
  #skip(length: number): number {
    const start = this.at;
    if (length > this.end - start) throw cutOff();
    this.at = start + length;
    return start;
  }
}

function joined(low: number, high: number): bigint {
  return high === 0 ? BigInt(low) : (BigInt(high) << 32n) | BigInt(low);
}

function cutOff(): RangeError {
  return new RangeError("the message is cut off");
}
