import { GrpcError } from "../grpc-error.js";
import type { Outgoing } from "./client-types.js";

/** Bytes of one call that are kept for further attempts. */
const maxKept = 1_048_576;

/** The messages of a stream as frames. Each attempt reads them from the first one, while they are few enough to be kept. */
export class KeptFrames {
  readonly #source: AsyncIterator<unknown> | Iterator<unknown>;
  readonly #encode: (message: unknown) => Promise<Uint8Array>;
  /** By their place; null is the end. */
  readonly #frames = new Map<number, Promise<Uint8Array | null>>();
  #bytes = 0;

  constructor(messages: Outgoing<unknown>, encode: (message: unknown) => Promise<Uint8Array>) {
    this.#source = Symbol.asyncIterator in messages ? messages[Symbol.asyncIterator]() : messages[Symbol.iterator]();
    this.#encode = encode;
  }

  /** True if all frames so far can be sent again. */
  get complete(): boolean {
    return this.#bytes <= maxKept;
  }

  /** When frames are not kept any more, they go to one reader: `commit` says if it is this one. Others end with an error. */
  async *read(commit: () => boolean): AsyncGenerator<Uint8Array> {
    const check = (): void => {
      if (!this.complete && !commit()) throw new GrpcError("CANCELLED", "the messages went to another attempt");
    };
    for (let i = 0; ; i++) {
      check();
      let frame = this.#frames.get(i);
      if (frame === undefined) this.#frames.set(i, (frame = this.#take()));
      const taken = await frame;
      check();
      if (!this.complete) this.#frames.clear();
      if (taken === null) return;
      yield taken;
    }
  }

  /** The call is over: its messages need not be made any more. */
  end(): void {
    void (async () => this.#source.return?.())().catch(() => {});
  }

  async #take(): Promise<Uint8Array | null> {
    const { done, value } = await this.#source.next();
    if (done) return null;
    const frame = await this.#encode(value);
    this.#bytes += frame.length;
    return frame;
  }
}
