import type { ServerHttp2Session } from "node:http2";

/**
 * Notices a head that is not completed. Node shows a stream when its head is whole, but the id of the last stream as soon as
 * its head has begun. Heads that the HTTP/2 library has refused look alike, so a PING decides: while a head is under way, a
 * client can send nothing else, not even the reply.
 */
export class HeadWatch {
  /** The highest id of a stream whose head is whole, or was refused. */
  #whole = 0;
  #ticks = 0;
  #asked = false;

  constructor(private readonly session: ServerHttp2Session) {}

  /** True if there was a stream. */
  get any(): boolean {
    return this.#whole > 0;
  }

  completed(id: number): void {
    if (id > this.#whole) this.#whole = id;
  }

  /** Called at every tick: true if a head has been under way for more than so many of them. */
  isLate(ticks: number): boolean {
    const begun = this.session.state.lastProcStreamID ?? 0;
    if (begun <= this.#whole) {
      this.#ticks = 0;
      this.#asked = false;
      return false;
    }
    if (!this.#asked) {
      this.#asked = true;
      this.session.ping((error) => {
        this.#asked = false;
        if (error === null) this.completed(begun);
      });
    }
    return ++this.#ticks > ticks;
  }
}
