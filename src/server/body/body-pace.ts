import { type BodyBuffer, bodyProgress } from "./body-buffer.js";

/** Notices, by looking once a tick, that a client sends its body too slowly or takes too long for all of it. */
export class BodyPace {
  /** The bytes that had arrived when the body last made progress. */
  #seen = 0;
  #quietTicks = 0;
  /** Ticks since a handler began to read the body. */
  #readTicks = 0;

  /** A handler begins to read the body: its total time runs from here. */
  restart(): void {
    this.#readTicks = 0;
  }

  /** Called at every tick: true after `quiet` of them without progress, or `total` of a body that is read as a whole. */
  isLate(body: BodyBuffer, quiet: number, total: number): boolean {
    if (body.isBuffered && ++this.#readTicks > total) return true;
    if (body.arrived - this.#seen < bodyProgress) return ++this.#quietTicks > quiet;
    this.#seen = body.arrived;
    this.#quietTicks = 0;
    return false;
  }
}
