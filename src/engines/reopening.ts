import type { Logger } from "../kit/logger.js";
import { backoff } from "../kit/time/backoff.js";

const firstPause = 250;
const longestPause = 15_000;

interface Connection {
  /** Gives up after some time. */
  open(): Promise<void>;
  /** Called for a connection that opened after the end. */
  close(): Promise<void>;
}

/** Opens a lost connection again, with pauses that double up to 15 seconds and differ from process to process. */
export class Reopening {
  #lost: unknown = null;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(
    private readonly name: string,
    private readonly logger: Logger,
    private readonly connection: Connection,
  ) {}

  /** The connection is lost. Logged once, however often it is reported. */
  begin(error: unknown): void {
    if (this.#lost !== null || this.#ended) return;
    this.#lost = error ?? new Error("the connection is lost");
    this.logger.warn(`the connection to the ${this.name} is lost`, { error });
    this.#schedule(0);
  }

  /** Throws the reason while the connection is lost. */
  check(): void {
    if (this.#lost !== null) throw this.#lost;
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
  }

  #schedule(attempt: number): void {
    this.#timer = setTimeout(() => void this.#try(attempt), backoff(attempt, firstPause, longestPause));
  }

  async #try(attempt: number): Promise<void> {
    try {
      await this.connection.open();
    } catch (error) {
      this.#lost = error;
      if (!this.#ended) this.#schedule(attempt + 1);
      return;
    }
    if (this.#ended) return this.connection.close().catch(() => {});
    this.#lost = null;
    this.logger.info(`the ${this.name} is connected again`);
  }
}
