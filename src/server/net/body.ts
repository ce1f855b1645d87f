import { BodyBuffer, type BodyHost } from "../body/body-buffer.js";
import { ChunkedDecoder } from "./chunked.js";

/** The body of the request at hand, told apart from what follows it. */
export class NetBody extends BodyBuffer {
  readonly #decoder: ChunkedDecoder | null;

  /** `length` is -1 for a chunked body. */
  constructor(host: BodyHost, length: number) {
    super(host, length === -1 ? undefined : length);
    this.#decoder = length === -1 ? new ChunkedDecoder() : null;
  }

  /** Takes what belongs to the body and returns where that ends; -1 when the coding is malformed. */
  consume(bytes: Buffer, start: number, end: number): number {
    const decoder = this.#decoder;
    if (decoder) {
      const pos = decoder.decode(bytes, start, end);
      if (decoder.dataEnd > start) this.add(bytes.subarray(start, decoder.dataEnd));
      if (decoder.malformed) return -1;
      if (decoder.done) this.finish();
      return pos;
    }
    const pos = Math.min(end, start + this.left);
    if (pos > start) this.add(bytes.subarray(start, pos));
    if (this.arrived === this.length) this.finish();
    return pos;
  }
}
