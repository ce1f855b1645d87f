import { BodyBuffer, type BodyHost, bodyProgress } from "../body/body-buffer.js";
import { ChunkedDecoder } from "./chunked.js";

/** The body of a request, taken from the bytes of a connection. */
export class NetBody extends BodyBuffer {
  /** The client waits for `100 Continue` before it sends the body. */
  awaitsContinue: boolean;
  /** The tick at which a handler began to read the body. */
  readSince = 0;
  readonly #decoder: ChunkedDecoder | null;
  /** The bytes that had arrived when the body last made progress. */
  #arrivedBefore = 0;

  /** `length` is -1 for a chunked body. */
  constructor(host: BodyHost, length: number, awaitsContinue: boolean) {
    super(host, length === -1 ? undefined : length);
    this.#decoder = length === -1 ? new ChunkedDecoder() : null;
    this.awaitsContinue = awaitsContinue;
  }

  /** Takes the bytes that belong to the body, a copy of `lent` ones, and returns their end; -1 if the coding is malformed. */
  consume(bytes: Buffer, start: number, end: number, lent: boolean): number {
    const decoder = this.#decoder;
    if (decoder) {
      const pos = decoder.decode(bytes, start, end);
      if (decoder.dataEnd > start) this.add(part(bytes, start, decoder.dataEnd, lent));
      if (decoder.malformed) return -1;
      if (decoder.done) this.finish();
      return pos;
    }
    const pos = Math.min(end, start + this.left);
    if (pos > start) this.add(part(bytes, start, pos, lent));
    if (this.arrived === this.length) this.finish();
    return pos;
  }

  /** True if a handler began to read the body as a whole before this tick. */
  isBufferedSince(tick: number): boolean {
    return this.isBuffered && this.readSince < tick;
  }

  /** True if enough has arrived since the last time that it was true, or if the body is complete. */
  madeProgress(): boolean {
    if (this.arrived - this.#arrivedBefore < bodyProgress) return this.complete;
    this.#arrivedBefore = this.arrived;
    return true;
  }
}

function part(bytes: Buffer, start: number, end: number, lent: boolean): Buffer {
  if (!lent) return bytes.subarray(start, end);
  const copy = Buffer.allocUnsafe(end - start);
  bytes.copy(copy, 0, start, end);
  return copy;
}
