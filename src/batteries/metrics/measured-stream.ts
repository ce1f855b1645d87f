import type { BodyStream } from "../../http/response.js";

/** A body that reports once the number of bytes read from it: at its end, on an error, or when the reader stops. */
export class MeasuredStream implements AsyncIterableIterator<Uint8Array | string> {
  readonly #body: BodyStream;
  #onEnd: ((size: number) => void) | null;
  #iterator: AsyncIterator<Uint8Array | string> | null = null;
  #size = 0;

  constructor(body: BodyStream, onEnd: (size: number) => void) {
    this.#body = body;
    this.#onEnd = onEnd;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array | string>> {
    try {
      this.#iterator ??= this.#body[Symbol.asyncIterator]();
      const result = await this.#iterator.next();
      if (result.done) this.#end();
      else this.#size += typeof result.value === "string" ? Buffer.byteLength(result.value) : result.value.length;
      return result;
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  async return(): Promise<IteratorResult<Uint8Array | string>> {
    this.#end();
    this.#iterator ??= this.#body[Symbol.asyncIterator]();
    await this.#iterator.return?.();
    return { done: true, value: undefined };
  }

  #end(): void {
    const tell = this.#onEnd;
    this.#onEnd = null;
    tell?.(this.#size);
  }
}
