/**
 * Writes protocol buffers straight into one buffer. The length of a message stands before it and is known after it: two
 * bytes are kept free for it, which the format allows for any length below 16384; a longer message is moved.
 */
export class Writer {
  buffer: Buffer;
  position = 0;

  constructor(size: number) {
    this.buffer = Buffer.allocUnsafeSlow(size);
  }

  /** The bytes written so far. They share memory with the writer. */
  get bytes(): Buffer {
    return this.buffer.subarray(0, this.position);
  }

  /** Makes room for as many bytes more. */
  reserve(size: number): void {
    if (this.position + size <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.buffer.length * 2, this.position + size));
    this.buffer.copy(larger, 0, 0, this.position);
    this.buffer = larger;
  }

  byte(value: number): void {
    this.reserve(1);
    this.buffer[this.position++] = value;
  }

  /** A number without sign, up to 2^53. */
  varint(value: number): void {
    this.reserve(10);
    const { buffer } = this;
    let rest = value;
    while (rest > 0x7fffffff) {
      buffer[this.position++] = (rest % 128) | 0x80;
      rest = Math.floor(rest / 128);
    }
    while (rest > 0x7f) {
      buffer[this.position++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    buffer[this.position++] = rest;
  }

  /** A whole number with sign, as an int64 in two's complement. */
  int64(value: number): void {
    if (value >= 0) {
      this.varint(value);
      return;
    }
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest > 0x7fn; rest >>= 7n) this.byte(Number(rest & 0x7fn) | 0x80);
    this.byte(Number(rest));
  }

  fixed32(value: number): void {
    this.reserve(4);
    this.position = this.buffer.writeUInt32LE(value >>> 0, this.position);
  }

  double(value: number): void {
    this.reserve(8);
    this.position = this.buffer.writeDoubleLE(value, this.position);
  }

  /** A whole number as a fixed64. */
  fixed64(value: number): void {
    this.#pair(Math.floor(value / 2 ** 32), value % 2 ** 32);
  }

  /** Microseconds as nanoseconds in a fixed64. The product does not fit into a number, so it is made of two parts. */
  nanos(micros: number): void {
    const high = Math.floor(micros / 2 ** 22) * 1000;
    const low = (high % 1024) * 2 ** 22 + (micros % 2 ** 22) * 1000;
    this.#pair(Math.floor(high / 1024) + Math.floor(low / 2 ** 32), low % 2 ** 32);
  }

  #pair(high: number, low: number): void {
    this.reserve(8);
    const { buffer } = this;
    let at = this.position;
    buffer[at++] = low;
    buffer[at++] = low >>> 8;
    buffer[at++] = low >>> 16;
    buffer[at++] = low >>> 24;
    buffer[at++] = high;
    buffer[at++] = high >>> 8;
    buffer[at++] = high >>> 16;
    buffer[at++] = high >>> 24;
    this.position = at;
  }

  raw(bytes: Uint8Array): void {
    this.reserve(bytes.length);
    this.buffer.set(bytes, this.position);
    this.position += bytes.length;
  }

  /** The bytes of an id in hexadecimal digits, with their length. */
  id(hex: string): void {
    const length = hex.length >> 1;
    this.reserve(length + 1);
    const { buffer } = this;
    let at = this.position;
    buffer[at++] = length;
    for (let i = 0; i < hex.length; i += 2) buffer[at++] = (digit(hex, i) << 4) | digit(hex, i + 1);
    this.position = at;
  }

  /** A text with its length. Lone surrogates become U+FFFD: the format allows valid UTF-8 only. */
  text(text: string): void {
    const { length } = text;
    this.reserve(length * 3 + 5);
    const start = this.position;
    if (length < 0x80) {
      const { buffer } = this;
      let at = start + 1;
      let code = 0;
      for (let i = 0; i < length && code < 0x80; i++) buffer[at++] = code = text.charCodeAt(i);
      if (code < 0x80) {
        buffer[start] = length;
        this.position = at;
        return;
      }
    }
    this.varint(Buffer.byteLength(text));
    this.position += this.buffer.write(text, this.position, "utf8");
  }

  /** Begins a message in a field. `end` gets the returned mark. */
  begin(tag: number): number {
    this.reserve(4);
    this.buffer[this.position++] = tag;
    this.position += 2;
    return this.position;
  }

  end(mark: number): void {
    const length = this.position - mark;
    if (length > 0x3fff) {
      this.#endLong(mark, length);
      return;
    }
    this.buffer[mark - 2] = (length & 0x7f) | 0x80;
    this.buffer[mark - 1] = length >> 7;
  }

  #endLong(mark: number, length: number): void {
    this.reserve(3);
    this.buffer.copyWithin(mark + 3, mark, this.position);
    let rest = length;
    for (let at = mark - 2; at < mark + 2; at++, rest = Math.floor(rest / 128)) this.buffer[at] = (rest & 0x7f) | 0x80;
    this.buffer[mark + 2] = rest;
    this.position += 3;
  }
}

function digit(hex: string, index: number): number {
  const code = hex.charCodeAt(index);
  return code < 0x40 ? code - 0x30 : code - 0x57;
}
