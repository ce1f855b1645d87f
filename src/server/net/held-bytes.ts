const smallest = 4 * 1024;

/** Bytes received that cannot be used yet: the beginning of a head, or requests behind one that is being answered. */
export class HeldBytes {
  start = 0;
  end = 0;
  #bytes: Buffer | null = null;
  /** The bytes were copied here, so that there is room to add to them. */
  #own = false;

  get bytes(): Buffer | null {
    return this.#bytes;
  }

  get size(): number {
    return this.end - this.start;
  }

  add(bytes: Buffer, from: number, to: number): void {
    if (this.#bytes === null) {
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

  /** Forgets the bytes; whoever has taken them may keep them. */
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
