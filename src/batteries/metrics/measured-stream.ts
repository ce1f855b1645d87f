import type { BodyStream } from "../../http/response.js";

/** A body that reports once, when nothing more is read from it: the bytes that were read, and if that was the whole. */
export class MeasuredStream implements AsyncIterableIterator<Uint8Array | string> {
  readonly #body: BodyStream;
  #onEnd: ((size: number, whole: boolean) => void) | null;
  #iterator: AsyncIterator<Uint8Array | string> | null = null;
  #size = 0;

  constructor(body: BodyStream, onEnd: (size: number, whole: boolean) => void) {
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
      if (result.done) this.#end(true);
      else this.#size += typeof result.value === "string" ? Buffer.byteLength(result.value) : result.value.length;
      return result;
    } catch (error) {
      this.#end(false);
      throw error;
    }
  }

  async return(): Promise<IteratorResult<Uint8Array | string>> {
    this.#end(false);
    this.#iterator ??= this.#body[Symbol.asyncIterator]();
    await this.#iterator.return?.();
    return { done: true, value: undefined };
  }

  #end(whole: boolean): void {
    const tell = this.#onEnd;
    this.#onEnd = null;
    tell?.(this.#size, whole);
  }
}
