const strict = new TextDecoder("utf-8", { fatal: true });

/** Reads the wire format of protobuf. Every read is checked against the end of the part that is read. */
export class WireReader {
  readonly #buffer: Buffer;
  at = 0;
  /** The end of the message or part. */
  end: number;
  /** Unknown fields that may still be kept. */
  unknownLeft: number;

  constructor(bytes: Uint8Array, unknownLeft = 0) {
    this.unknownLeft = unknownLeft;
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
    // The rest of ten bytes: of a negative integer, or of one that does not fit.
    for (let i = 0; i < 5; i++) if (this.#byte() < 0x80) return value >>> 0;
    throw new RangeError("an integer takes more than ten bytes");
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
    const length = this.uint32();
    const start = this.#skip(length);
    const { buffer, byteOffset } = this.#buffer;
    return new Uint8Array(buffer, byteOffset + start, length);
  }

  /** Throws for bytes that are not UTF-8. */
  string(): string {
    const length = this.uint32();
    const start = this.#skip(length);
    const text = this.#buffer.toString("utf8", start, start + length);
    // The replacement character may have been sent as such; then the check passes.
    if (text.includes("\ufffd")) return strict.decode(this.#buffer.subarray(start, start + length));
    return text;
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
    const length = this.uint32();
    const stop = this.at + length;
    if (stop > this.end) throw cutOff();
    return stop;
  }

  /** Skips a field, and returns its bytes. */
  skipField(wireType: number): Uint8Array {
    const start = this.at;
    this.skip(wireType);
    const { buffer, byteOffset } = this.#buffer;
    return new Uint8Array(buffer, byteOffset + start, this.at - start);
  }

  skip(wireType: number): void {
    switch (wireType) {
      case 0:
        this.uint32();
        break;
      case 1:
        this.#skip(8);
        break;
      case 2:
        this.#skip(this.uint32());
        break;
      case 5:
        this.#skip(4);
        break;
      default:
        throw new RangeError(`the wire type ${wireType} is not supported here`);
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
