const smallPiece = 2 * 1024;
const blockSize = 16 * 1024;

/**
 * Pieces of a body in order. Small ones are copied together: a body that arrives byte by byte would cost a hundred times
 * its size as objects.
 */
export class ByteQueue {
  size = 0;
  #pieces: Uint8Array[] = [];
  /** A block that small pieces are copied into; those up to `#used` are not in `#pieces` yet. */
  #block: Buffer | null = null;
  #used = 0;

  push(piece: Uint8Array): void {
    this.size += piece.length;
    if (piece.length >= smallPiece || (this.#pieces.length === 0 && this.#used === 0)) {
      this.#closeBlock();
      this.#pieces.push(piece);
      return;
    }
    if (!this.#block || this.#block.length - this.#used < piece.length) {
      this.#closeBlock();
      this.#block = Buffer.allocUnsafe(blockSize);
    }
    this.#block.set(piece, this.#used);
    this.#used += piece.length;
  }

  /** The oldest piece; undefined when there is none. */
  shift(): Uint8Array | undefined {
    if (this.#pieces.length === 0) this.#closeBlock();
    const piece = this.#pieces.shift();
    if (piece) this.size -= piece.length;
    return piece;
  }

  /** Everything, as one piece. */
  takeAll(): Uint8Array {
    this.#closeBlock();
    const pieces = this.#pieces;
    const all = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, this.size);
    this.clear();
    return all;
  }

  clear(): void {
    this.#pieces = [];
    this.#block = null;
    this.#used = 0;
    this.size = 0;
  }

  #closeBlock(): void {
    if (!this.#block || this.#used === 0) return;
    this.#pieces.push(this.#block.subarray(0, this.#used));
    this.#block = this.#block.subarray(this.#used);
    this.#used = 0;
  }
}
