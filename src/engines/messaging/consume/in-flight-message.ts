import type { Logger } from "../../../kit/logger.js";
import type { Deadlines } from "../../../kit/time/deadlines.js";
import { LazySignal } from "../../../kit/time/lazy-signal.js";
import type { Tracer } from "../../../kit/tracer.js";
import type { Broker, Delivery } from "../broker.js";
import { MessagingError } from "../errors.js";
import type { Publisher } from "../publish/publisher.js";
import type { Finished } from "./finished.js";
import type { Inbox } from "./inbox.js";
import type { ConsumerSettings } from "./options.js";
import type { ProcessedStore } from "./processed.js";

/** The end of a delivery, for metrics. */
export type WorkResult = "done" | "retried" | "requeued" | "rejected" | "dead" | "duplicate" | "released" | "lost";

/** Takes the result of a delivery. Called once for each. */
export type Ended = (inFlight: InFlightMessage, result: WorkResult) => void;

/** The parts of a consumer that the work on its deliveries uses. */
export interface ConsumerContext {
  readonly topic: string;
  readonly settings: ConsumerSettings;
  readonly broker: Broker;
  readonly publisher: Publisher;
  readonly store: ProcessedStore | null;
  readonly inbox: Inbox | null;
  readonly logger: Logger;
  /** The time of handlers. */
  readonly deadlines: Deadlines;
  /** Aborted when the consumer drains. */
  readonly stopping: AbortSignal;
  readonly tracer: () => Tracer | null;
  /** Waits without taking up the room of a handler. */
  readonly withoutSlot: <T>(inFlight: InFlightMessage, wait: () => Promise<T>) => Promise<T>;
  /** Called after each attempt, with the time on the monotonic clock at which it began. */
  readonly attempted: (start: number, ok: boolean) => void;
  /** Called if the work on a delivery itself fails: the broker gets the message back. */
  readonly fault: (inFlight: InFlightMessage, error: unknown) => Promise<WorkResult>;
}

/** A delivery that a consumer has and has not settled. */
export class InFlightMessage {
  /** The present attempt. A handler whose time was up can still read its own signal. */
  attempt = new LazySignal();
  /** The time on the monotonic clock at which its handler began; null if none runs. */
  begun: number | null = null;
  #lost = false;
  #settled = false;

  /** `opening` is that of the consumer that delivered it; `finished` remembers it if its acknowledgement is lost. */
  constructor(
    readonly delivery: Delivery,
    readonly consumer: ConsumerContext,
    readonly opening: object | null = null,
    readonly finished: Finished | null = null,
  ) {}

  /** True if its end can be remembered, so that the handler does not run again when the broker delivers it again. */
  get isKnown(): boolean {
    return this.finished !== null && typeof this.delivery.identity === "string";
  }

  /** Its handler has finished, but the broker does not know it. */
  remember(): void {
    if (this.isKnown) this.finished!.add(this.delivery.identity!);
  }

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

  /** Begins the next attempt: a signal that was aborted because time was up, or that the pause has read, does not count for it. */
  renew(): void {
    if (!this.#lost && (this.attempt.aborted || this.attempt.isRead)) this.attempt = new LazySignal();
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
