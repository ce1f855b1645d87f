import { grown } from "../../../kit/encoding.js";
import type { Encoded } from "../values/encode.js";

/**
 * The statements of one turn of the event loop on their way to the server: messages Bind, Execute and Sync of
 * PostgreSQL's protocol, written at once; the driver would write three times for each statement.
 */
export class StatementBuffer {
  #bytes = Buffer.allocUnsafeSlow(initialSize);
  #length = 0;

  get empty(): boolean {
    return this.#length === 0;
  }

  /** Adds a prepared statement with its parameters. */
  add(name: string, values: readonly Encoded[]): void {
    this.#bind(name, values);
    this.#reserve(executeAndSync.length);
    this.#length += executeAndSync.copy(this.#bytes, this.#length);
  }

  /** Takes out all that was added. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    if (this.#bytes.length <= largestKept) return Buffer.from(bytes);
    this.#bytes = Buffer.allocUnsafeSlow(initialSize);
    return bytes;
  }

  #bind(name: string, values: readonly Encoded[]): void {
    const binary = values.some((value) => typeof value === "object" && value !== null);
    this.#reserve(16 + name.length + 2 * values.length);
    const start = this.#length;
    this.#bytes[this.#length] = letterB;
    this.#length += 5;
    this.#byte(0); // The portal has no name.
    for (let i = 0; i < name.length; i++) this.#byte(name.charCodeAt(i));
    this.#byte(0);
    this.#int16(binary ? values.length : 0);
    if (binary) for (const value of values) this.#int16(typeof value === "string" || value === null ? 0 : 1);
    this.#int16(values.length);
    for (const value of values) this.#value(value);
    this.#reserve(2);
    this.#int16(0); // All results as text.
    this.#bytes.writeUInt32BE(this.#length - start - 1, start + 1);
  }

  #value(value: Encoded): void {
    if (value === null) {
      this.#reserve(4);
      this.#bytes.writeInt32BE(-1, this.#length);
      this.#length += 4;
      return;
    }
    this.#reserve(4 + longest(value));
    const start = this.#length;
    this.#length += 4;
    if (typeof value === "string") this.#text(value);
    else this.#length += value.copy(this.#bytes, this.#length);
    this.#bytes.writeInt32BE(this.#length - start - 4, start);
  }

  #text(text: string): void {
    const start = this.#length;
    if (text.length <= shortText) {
      const bytes = this.#bytes;
      let at = start;
      for (; at - start < text.length; at++) {
        const code = text.charCodeAt(at - start);
        if (code >= 128) break;
        bytes[at] = code;
      }
      if (at - start === text.length) {
        this.#length = at;
        return;
      }
    }
    this.#length = start + this.#bytes.write(text, start);
  }

  #byte(value: number): void {
    this.#bytes[this.#length++] = value;
  }

  #int16(value: number): void {
    this.#bytes[this.#length++] = value >> 8;
    this.#bytes[this.#length++] = value & 0xff;
  }

  #reserve(length: number): void {
    const needed = this.#length + length;
    if (needed > this.#bytes.length) this.#bytes = grown(this.#bytes, this.#length, needed);
  }
}

/** The most bytes that a value can take. */
function longest(value: string | Buffer): number {
  if (typeof value !== "string") return value.length;
  return value.length <= 4096 ? value.length * 3 : Buffer.byteLength(value);
}

const initialSize = 2048;
const largestKept = 65_536;
/** Up to this length a loop writes faster than a call. */
const shortText = 32;
const letterB = "B".charCodeAt(0);

/** Execute: the portal without a name, all rows. Then Sync. */
const executeAndSync = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4]);
