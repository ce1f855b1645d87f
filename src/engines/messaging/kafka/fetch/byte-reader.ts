import { MessagingError } from "../../errors.js";

/** Reads numbers and texts of Kafka's protocol from a piece of memory, one after the other. Throws at its end. */
export class ByteReader {
  constructor(
    readonly buffer: Buffer,
    public position: number = 0,
    readonly end: number = buffer.length,
  ) {}

  /** Moves over so many bytes; returns the place of the first of them. */
  skip(length: number): number {
    const start = this.position;
    if (length < 0 || length > this.end - start) throw cutOff();
    this.position = start + length;
    return start;
  }

  int16(): number {
    return this.buffer.readInt16BE(this.skip(2));
  }

  int32(): number {
    return this.buffer.readInt32BE(this.skip(4));
  }

  int64(): bigint {
    return this.buffer.readBigInt64BE(this.skip(8));
  }

  /** A number of variable length, not negative. */
  unsigned(): number {
    let value = 0;
    for (let factor = 1; factor < 2 ** 70; factor *= 128) {
      if (this.position >= this.end) throw cutOff();
      const byte = this.buffer[this.position++]!;
      // Not shifted: times have more than 32 bits.
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
    throw new CorruptError("a number has more than ten bytes");
  }

  /** A number of variable length, in zigzag: 0, -1, 1, -2. */
  signed(): number {
    const value = this.unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** The length of a list or of bytes, which is written plus one; -1 for null. */
  length(): number {
    return this.unsigned() - 1;
  }

  /** Skips the fields that later versions of the protocol have added. */
  skipTags(): void {
    for (let count = this.unsigned(); count > 0; count--) {
      this.unsigned();
      this.skip(this.unsigned());
    }
  }
}

/** Bytes that are not what the protocol says. */
export class CorruptError extends MessagingError {
  constructor(message: string) {
    super("REFUSED", `the Kafka broker sent bytes that cannot be read: ${message}`);
  }
}

function cutOff(): CorruptError {
  return new CorruptError("they end too early");
}
