import { WireWriter } from "../../../kit/protobuf/wire-writer.js";

/** The wire format of protobuf, and the values of OTLP in it. */
export class Writer extends WireWriter {
  /** The tag of a field; its value follows. */
  tag(tag: number): this {
    this.byte(tag);
    return this;
  }

  /** Begins a message in a field. `join` gets the returned place. */
  begin(tag: number): number {
    this.byte(tag);
    return this.fork();
  }

  /** A count as a fixed64. */
  count(value: number): void {
    this.halves(value % 2 ** 32, Math.floor(value / 2 ** 32));
  }

  /** Microseconds as nanoseconds in a fixed64. The product does not fit into a number, so it is made of two parts. */
  nanos(micros: number): void {
    const high = Math.floor(micros / 2 ** 22) * 1000;
    const low = (high % 1024) * 2 ** 22 + (micros % 2 ** 22) * 1000;
    this.halves(low % 2 ** 32, Math.floor(high / 1024) + Math.floor(low / 2 ** 32));
  }

  /** The bytes of an id in hexadecimal digits, with their length. */
  id(hex: string): void {
    const length = hex.length >> 1;
    this.byte(length);
    this.reserve(length);
    for (let i = 0; i < hex.length; i += 2) this.buffer[this.at++] = (digit(hex, i) << 4) | digit(hex, i + 1);
  }
}

function digit(hex: string, index: number): number {
  const code = hex.charCodeAt(index);
  return code < 0x40 ? code - 0x30 : code - 0x57;
}
