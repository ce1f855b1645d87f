import { constants, type ServerHttp2Stream } from "node:http2";
import type { Deadlines } from "../http1/deadlines.js";
import { StreamWatch } from "./stream-watch.js";

/** The connection, as far as a stream of another protocol uses it. */
export interface TakenStreamOwner {
  over(stream: TakenStream, broken: boolean): void;
  /** So many more bytes wait for the client. */
  waits(change: number): void;
  stalled(): void;
}

/** A stream that a handler of another protocol has taken. Only a client that does not take its bytes is noticed here. */
export class TakenStream {
  readonly #owner: TakenStreamOwner;
  readonly #stream: ServerHttp2Stream;
  readonly #watch: StreamWatch;
  #cut = false;

  constructor(owner: TakenStreamOwner, stream: ServerHttp2Stream) {
    this.#owner = owner;
    this.#stream = stream;
    this.#watch = new StreamWatch(stream);
    stream.on("error", ignore);
    stream.on("drain", () => this.#watch.progressed());
    stream.on("close", () => {
      owner.waits(this.#watch.change(0));
      const broken = stream.rstCode !== constants.NGHTTP2_NO_ERROR || stream.aborted;
      owner.over(this, broken && !this.#cut);
    });
  }

  /** Called at every tick. */
  checkDeadlines(deadlines: Deadlines, quiet: boolean): void {
    this.#owner.waits(this.#watch.change());
    if (!this.#watch.isStalled(deadlines.write, false, quiet)) return;
    this.#cut = true;
    this.#stream.destroy(new Error("the client does not take the response"));
    this.#owner.stalled();
  }
}

function ignore(): void {}
