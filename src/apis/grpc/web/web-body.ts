import type { BodyStream } from "../../../http/response.js";
import { malformedCall } from "../malformed-call.js";

/** Base64 in pieces: each piece that is sent ends with its own padding (PROTOCOL-WEB.md). */
export function asText(bytes: Uint8Array): Buffer {
  return Buffer.from(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"), "latin1");
}

/** Decodes base64 as it arrives. Padding may stand in the middle, at the end of any piece that the client has sent. */
export async function* decodeText(body: AsyncIterable<Uint8Array>): AsyncIterableIterator<Uint8Array> {
  let rest = "";
  for await (const piece of body) {
    const text = rest + Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString("latin1");
    const whole = text.length - (text.length % 4);
    rest = text.slice(whole);
    for (let at = 0; at < whole; ) {
      const padding = text.indexOf("=", at);
      const end = padding === -1 || padding >= whole ? whole : padding - (padding % 4) + 4;
      const part = text.slice(at, end);
      if (!/^[A-Za-z0-9+/]*={0,2}$/.test(part)) throw malformed();
      yield Buffer.from(part, "base64");
      at = end;
    }
  }
  if (rest !== "") throw malformed();
}

function malformed(): Error {
  return malformedCall("the body is not base64");
}

/** A response as it is sent: its frames, then a last one that says how the call ended. */
export class WebBody implements AsyncIterableIterator<Uint8Array> {
  readonly #frames: AsyncIterator<Uint8Array | string>;
  readonly #last: (error: unknown) => Uint8Array;
  readonly #text: boolean;
  #done = false;

  /** `last` makes the last frame; its argument is undefined if the stream has ended as it should. */
  constructor(frames: BodyStream, last: (error: unknown) => Uint8Array, text: boolean) {
    this.#frames = frames[Symbol.asyncIterator]();
    this.#last = last;
    this.#text = text;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    if (this.#done) return { done: true, value: undefined };
    let piece: Uint8Array | null = null;
    let error: unknown;
    try {
      const { done, value } = await this.#frames.next();
      if (!done) piece = value as Uint8Array;
    } catch (thrown) {
      error = thrown ?? new Error("unknown");
    }
    if (piece === null) {
      this.#done = true;
      piece = this.#last(error);
    }
    return { done: false, value: this.#text ? asText(piece) : piece };
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#done = true;
    await this.#frames.return?.();
    return { done: true, value: undefined };
  }
}
