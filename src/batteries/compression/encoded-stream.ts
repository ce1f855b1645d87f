import type { Transform } from "node:stream";

/** A compressor of node:zlib. */
export interface Encoder extends Transform {
  flush(kind: number, callback?: () => void): void;
}

const over: IteratorReturnResult<undefined> = { done: true, value: undefined };

/**
 * A body that is compressed while it is produced. A piece of the source is read when one is requested, so the client
 * sets the pace. The compressor is made with the first piece and freed at the end, on an error and on `return`, at any
 * point.
 */
export class EncodedStream implements AsyncIterableIterator<Uint8Array> {
  readonly #source: AsyncIterator<Uint8Array | string>;
  readonly #open: () => Encoder;
  readonly #flush: number | null;
  #encoder: Encoder | null = null;
  #output: Uint8Array[] = [];
  #ended = false;
  #error: Error | null = null;
  #wake: (() => void) | null = null;

  /** `flush` makes the compressor emit each piece; null lets it wait for more. */
  constructor(source: AsyncIterable<Uint8Array | string>, open: () => Encoder, flush: number | null) {
    this.#source = source[Symbol.asyncIterator]();
    this.#open = open;
    this.#flush = flush;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    for (;;) {
      const piece = this.#output.shift();
      if (piece !== undefined) return { done: false, value: piece };
      if (this.#ended) return over;
      await this.#advance();
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    if (this.#ended) return over;
    this.#close();
    this.#output = [];
    await this.#source.return?.();
    return over;
  }

  async #advance(): Promise<void> {
    try {
      const { done, value } = await this.#source.next();
      if (this.#ended) return;
      const encoder = (this.#encoder ??= this.#start());
      if (done) {
        await this.#until((finished) => encoder.once("end", finished).end());
        this.#close();
      } else if (value.length > 0) {
        await this.#until((written) => {
          if (this.#flush === null) encoder.write(value, written);
          else {
            encoder.write(value);
            encoder.flush(this.#flush, written);
          }
        });
      }
    } catch (error) {
      this.#close();
      throw error;
    }
  }

  #start(): Encoder {
    const encoder = this.#open();
    encoder.on("data", (piece: Uint8Array) => this.#output.push(piece));
    encoder.on("error", (error) => {
      this.#error = error;
      this.#wakeUp();
    });
    return encoder;
  }

  /** Waits until the compressor has finished an operation, or the stream has ended. */
  async #until(tell: (done: () => void) => void): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      tell(resolve);
    });
    this.#wake = null;
    if (this.#error && !this.#ended) throw this.#error;
  }

  #close(): void {
    this.#ended = true;
    this.#encoder?.destroy();
    this.#wakeUp();
  }

  #wakeUp(): void {
    this.#wake?.();
  }
}
