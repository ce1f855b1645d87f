import { GrpcError } from "../grpc-error.js";

/** One message between its prefix and the next (gRPC over HTTP/2, "Length-Prefixed-Message"). */
export interface Frame {
  /** 1: compressed. 2: the end of a stream of Connect. 128: the trailers of gRPC-Web. */
  readonly flags: number;
  readonly data: Uint8Array;
}

/** The bytes before a message: a flag and its length. */
export const prefixLength = 5;

const noBytes = Buffer.alloc(0);

/**
 * Cuts the pieces of a body into frames. The length of a message is checked as soon as its prefix has come, so a message that
 * is too large is never kept. A piece is copied only if a message is spread over several pieces.
 */
export class FrameParser {
  /** Made for the first message that is spread over several pieces. */
  #prefix: Buffer = noBytes;
  #prefixed = 0;
  #message: Buffer | null = null;
  #filled = 0;

  constructor(private readonly limit: number) {}

  /** True between two messages. */
  get idle(): boolean {
    return this.#prefixed === 0;
  }

  /** Bytes of a message that is not complete. */
  get held(): number {
    return this.#message === null ? 0 : this.#filled;
  }

  /** Adds the frames that the piece completes. Throws RESOURCE_EXHAUSTED for a message that is too large. */
  push(piece: Buffer, frames: Frame[]): void {
    let at = 0;
    const { length } = piece;
    while (at < length) {
      if (this.#message === null) {
        if (this.#prefixed === 0 && length - at >= prefixLength) {
          const size = piece.readUInt32BE(at + 1);
          this.#check(size);
          const flags = piece[at]!;
          const start = at + prefixLength;
          if (length - start >= size) {
            frames.push({ flags, data: piece.subarray(start, start + size) });
            at = start + size;
            continue;
          }
        }
        if (this.#prefix === noBytes) this.#prefix = Buffer.allocUnsafe(prefixLength);
        const taken = Math.min(prefixLength - this.#prefixed, length - at);
        piece.copy(this.#prefix, this.#prefixed, at, at + taken);
        this.#prefixed += taken;
        at += taken;
        if (this.#prefixed < prefixLength) return;
        const size = this.#prefix.readUInt32BE(1);
        this.#check(size);
        this.#filled = 0;
        // The client's word alone does not fill the memory: room for more comes with the bytes.
        this.#message = Buffer.allocUnsafe(Math.min(size, 65_536));
      }
      at += this.#fill(piece, at);
      this.#complete(frames);
    }
    // An empty message whose prefix ended with the piece.
    if (this.#message !== null) this.#complete(frames);
  }

  #fill(piece: Buffer, at: number): number {
    const size = this.#prefix.readUInt32BE(1);
    const taken = Math.min(size - this.#filled, piece.length - at);
    const needed = this.#filled + taken;
    if (needed > this.#message!.length) {
      const larger = Buffer.allocUnsafe(Math.min(size, Math.max(needed, this.#message!.length * 2)));
      this.#message!.copy(larger, 0, 0, this.#filled);
      this.#message = larger;
    }
    piece.copy(this.#message!, this.#filled, at, at + taken);
    this.#filled = needed;
    return taken;
  }

  #complete(frames: Frame[]): void {
    const size = this.#prefix.readUInt32BE(1);
    if (this.#message === null || this.#filled < size) return;
    frames.push({ flags: this.#prefix[0]!, data: this.#message.subarray(0, size) });
    this.#message = null;
    this.#prefixed = 0;
  }

  #check(size: number): void {
    if (size > this.limit) throw tooLarge(size, this.limit);
  }
}

export function tooLarge(size: number | null, limit: number): GrpcError {
  const found = size === null ? "a message is" : `a message of ${size} bytes is`;
  return new GrpcError("RESOURCE_EXHAUSTED", `${found} larger than the limit of ${limit} bytes`);
}

/** Puts a prefix before bytes. */
export function frameOf(data: Uint8Array, flags = 0): Buffer {
  const frame = Buffer.allocUnsafe(prefixLength + data.length);
  frame[0] = flags;
  frame.writeUInt32BE(data.length, 1);
  frame.set(data, prefixLength);
  return frame;
}
