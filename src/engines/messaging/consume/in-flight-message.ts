import type { Delivery } from "../broker.js";
import { MessagingError } from "../errors.js";

/** The signal of one attempt. It is made when it is read: most handlers do not. */
export class AttemptSignal {
  #abort: AbortController | null = null;
  #reason: unknown = undefined;

  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController();
      if (this.#reason !== undefined) this.#abort.abort(this.#reason);
    }
    return this.#abort.signal;
  }

  get aborted(): boolean {
    return this.#reason !== undefined;
  }

  abort(reason: unknown): void {
    this.#reason ??= reason;
    this.#abort?.abort(reason);
  }
}

/** A delivery that a consumer has and has not settled. */
export class InFlightMessage {
  /** The present attempt. A handler whose time was up can still read the signal of its own. */
  attempt = new AttemptSignal();
  #lost = false;
  #settled = false;

  /** `opening` is that of the consumer that delivered it. */
  constructor(
    readonly delivery: Delivery,
    readonly opening: object | null = null,
  ) {}

  /** True if the delivery now belongs to another consumer: nothing may be settled. */
  get lost(): boolean {
    return this.#lost;
  }

  get signal(): AbortSignal {
    return this.attempt.signal;
  }

  abort(reason: unknown): void {
    this.attempt.abort(reason);
  }

  lose(): void {
    if (this.#lost) return;
    this.#lost = true;
    this.abort(new MessagingError("LOST", "the message now belongs to another consumer"));
  }

  /** Begins the next attempt: a signal that was aborted because time was up does not count for it. */
  renew(): void {
    if (!this.#lost && this.attempt.aborted) this.attempt = new AttemptSignal();
  }

  /** Begins a settlement that another makes, with others. False if there is nothing to settle. */
  begin(): boolean {
    if (this.#lost || this.#settled) return false;
    this.#settled = true;
    return true;
  }

  /** The settlement that was begun has failed. */
  undo(): void {
    this.#settled = false;
  }

  /** Acknowledges the delivery, as `settle` does; at once, where the broker has nothing to wait for. */
  ack(): boolean | Promise<boolean> {
    if (!this.begin()) return false;
    try {
      return this.delivery.ack()?.then(isTrue, (error: unknown) => this.#failed(error)) ?? true;
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** Settles once. False if there is nothing to settle, because the delivery is lost or settled. */
  async settle(how: (delivery: Delivery) => Promise<void>): Promise<boolean> {
    if (!this.begin()) return false;
    try {
      await how(this.delivery);
      return true;
    } catch (error) {
      return this.#failed(error);
    }
  }

  /** The broker knows best: a delivery that is unsettled there comes again. */
  #failed(error: unknown): false {
    if (error instanceof MessagingError && error.code === "LOST") {
      this.lose();
      return false;
    }
    this.#settled = false;
    throw error;
  }
}

const isTrue = () => true;
