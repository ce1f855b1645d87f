import { constants, type ServerHttp2Stream } from "node:http2";
import type { Deadlines } from "../net/deadlines.js";
import { StreamWatch } from "./stream-watch.js";

/** The connection, as far as a stream of another protocol uses it. */
export interface TakenStreamOwner {
  over(stream: TakenStream, broken: boolean): void;
}

/** A stream that a handler of another protocol has taken. Only a client that does not take its bytes is noticed here. */
export class TakenStream {
  readonly #stream: ServerHttp2Stream;
  readonly #watch: StreamWatch;
  #cutTicks: number | null = null;

  constructor(owner: TakenStreamOwner, stream: ServerHttp2Stream) {
    this.#stream = stream;
    this.#watch = new StreamWatch(stream);
    stream.on("error", ignore);
    stream.on("drain", () => this.#watch.progressed());
    stream.on("close", () => {
      const broken = stream.rstCode !== constants.NGHTTP2_NO_ERROR || !stream.writableFinished;
      owner.over(this, broken && this.#cutTicks === null);
    });
  }

  /** Called at every tick: false if the client does not even let the stream be closed. */
  checkDeadlines(deadlines: Deadlines, quiet: boolean): boolean {
    if (this.#cutTicks !== null) return ++this.#cutTicks <= deadlines.linger;
    if (!this.#watch.isStalled(deadlines.write, false, quiet)) return true;
    this.#cutTicks = 0;
    this.#stream.close(constants.NGHTTP2_CANCEL);
    return true;
  }
}

function ignore(): void {}
