import { longestDelay } from "../kit/time/within.js";

/** A loop waits here until there is work or a time is over. A call of `wake` between two waits is not lost. */
export class Wake {
  #woken = false;
  #release: (() => void) | null = null;

  readonly wake = (): void => {
    this.#woken = true;
    this.#release?.();
  };

  /** Forgets the calls of `wake` until now. */
  reset(): void {
    this.#woken = false;
  }

  async wait(milliseconds: number): Promise<void> {
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(Math.max(milliseconds, 0), longestDelay));
        this.#release = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#release = null;
    }
    this.#woken = false;
  }
}
