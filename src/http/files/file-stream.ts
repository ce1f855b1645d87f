import type { FileHandle } from "node:fs/promises";

const pieceSize = 128 * 1024;

/** Sends bytes of an open file without waiting; returns how many. */
export type SendBytes = (descriptor: number, position: number, length: number) => number;

/** A stream of which bytes can be sent without being read. */
export interface PassingStream {
  /** Gives the next bytes to `send`; returns how many it has sent. Not while a piece is read. */
  passOn(send: SendBytes): number;
}

/** Exactly `length` bytes from `start`; throws when the file has become shorter. */
export async function readExactly(handle: FileHandle, start: number, length: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(length);
  for (let read = 0; read < length; ) {
    const { bytesRead } = await handle.read(buffer, read, length - read, start + read);
    if (bytesRead === 0) throw new Error("the file became shorter while it was being sent");
    read += bytesRead;
  }
  return buffer;
}

/**
 * Exactly `length` bytes of an open file in pieces. It closes the file with the last piece, on an error, and on `return`,
 * also when nothing was read yet: an async generator would leave it open then.
 */
export class FileStream implements AsyncIterableIterator<Uint8Array>, PassingStream {
  readonly #handle: FileHandle;
  #position: number;
  readonly #end: number;
  #closed = false;

  constructor(handle: FileHandle, start: number, length: number) {
    this.#handle = handle;
    this.#position = start;
    this.#end = start + length;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#closed) return { done: true, value: undefined };
    try {
      const value = await readExactly(this.#handle, this.#position, Math.min(pieceSize, this.#end - this.#position));
      this.#position += value.length;
      if (this.#position === this.#end) await this.#close();
      return { done: false, value };
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  passOn(send: SendBytes): number {
    if (this.#closed) return 0;
    const sent = send(this.#handle.fd, this.#position, this.#end - this.#position);
    this.#position += sent;
    return sent;
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    await this.#close();
    return { done: true, value: undefined };
  }

  async #close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#handle.close();
  }
}
