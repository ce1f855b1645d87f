import type { Logger } from "../../kit/logger.js";
import { within } from "../../kit/time/within.js";

/** Milliseconds that work in the background has at the end of the application. */
const grace = 10_000;

/** Work after the response, which the drain waits for. It is lost if the process is killed. */
export class Background {
  readonly #running = new Set<Promise<void>>();

  start(work: () => unknown, logger: () => Logger): void {
    const running = new Promise<void>((resolve) => setImmediate(resolve))
      .then(work)
      .then(
        () => {},
        (error: unknown) => logger().error("work in the background failed", { error }),
      )
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async drain(logger: Logger): Promise<void> {
    const until = performance.now() + grace;
    while (this.#running.size > 0) {
      const ended = Promise.all(this.#running).then(() => false);
      if (await within(ended, until - performance.now(), () => true))
        return logger.warn(`work in the background did not end within ${grace} ms`);
    }
  }
}
