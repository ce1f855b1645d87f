import { Duplex } from "node:stream";

/** Two ends of a connection in memory: what is written to one is read from the other, at the reader's pace. */
export function duplexPair(): [Duplex, Duplex] {
  const one = new End();
  const other = new End();
  one.peer = other;
  other.peer = one;
  return [one, other];
}

type Callback = (error?: Error | null) => void;

class End extends Duplex {
  peer!: End;
  /** Tells the writer on this end that the peer wants more. */
  #taken: Callback | null = null;
  #ended = false;

  override _read(): void {
    this.peer.#release(null);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: Callback): void {
    if (this.peer.destroyed || this.peer.#ended) {
      callback(Object.assign(new Error("the other end is closed"), { code: "EPIPE" }));
    } else if (chunk.length === 0) {
      callback();
    } else {
      this.#taken = callback;
      this.peer.push(chunk);
    }
  }

  override _final(callback: Callback): void {
    this.peer.#end();
    callback();
  }

  override _destroy(error: Error | null, callback: Callback): void {
    this.#release(error ?? new Error("the connection was closed"));
    this.peer.#release(new Error("the other end is closed"));
    this.peer.#end();
    callback(error);
  }

  #release(error: Error | null): void {
    const taken = this.#taken;
    this.#taken = null;
    taken?.(error);
  }

  #end(): void {
    if (this.#ended || this.destroyed) return;
    this.#ended = true;
    this.push(null);
  }
}
