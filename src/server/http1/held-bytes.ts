import { scanAddition } from "./head.js";

const smallest = 4 * 1024;

/** Bytes received that cannot be used yet: the beginning of a head, or requests behind one that waits for its response. */
export class HeldBytes {
  start = 0;
  end = 0;
  #bytes: Buffer | null = null;
  /** The bytes were copied here, so that there is room to add to them. */
  #own = false;
  /** The bytes of a head that were scanned, counted from `start`: the bytes move when more are added. */
  #scanned = 0;

  get bytes(): Buffer | null {
    return this.#bytes;
  }

  get size(): number {
    return this.end - this.start;
  }

  /** `lent` bytes are copied: they are used again when the call of the wire returns. */
  add(bytes: Buffer, from: number, to: number, lent: boolean): void {
    if (this.#bytes === null) {
      if (lent) {
        bytes = Buffer.from(bytes.subarray(from, to));
        to -= from;
        from = 0;
      }
      this.#bytes = bytes;
      this.#own = false;
      this.start = from;
      this.end = to;
      return;
    }
    this.#makeRoom(to - from);
    bytes.copy(this.#bytes, this.end, from, to);
    this.end += to - from;
  }

  /** Holds the beginning of a head, which the parser has looked at. */
  addHead(bytes: Buffer, from: number, to: number, lent: boolean): void {
    this.add(bytes, from, to, lent);
    this.#scanned = this.size;
  }

  /** Scans the bytes added to a head since the last scan: GOOD, LINE or BAD of `scanAddition`. */
  scanHead(): number {
    const from = this.start + this.#scanned;
    this.#scanned = this.size;
    return scanAddition(this.#bytes!, this.start, from, this.end);
  }

  /** Forgets the bytes; a caller that has taken them may keep them. */
  clear(): void {
    this.#bytes = null;
    this.start = 0;
    this.end = 0;
  }

  #makeRoom(count: number): void {
    if (this.#own && this.#bytes!.length - this.end >= count) return;
    const size = this.size;
    const larger = Buffer.allocUnsafeSlow(Math.max(smallest, 2 * (size + count)));
    this.#bytes!.copy(larger, 0, this.start, this.end);
    this.#bytes = larger;
    this.#own = true;
    this.start = 0;
    this.end = size;
  }
}
