import type { BrokerName, OutgoingRecord } from "../../engines/messaging/broker.js";
import { MessagingError } from "../../engines/messaging/errors.js";
import type { Messaging } from "../../engines/messaging/messaging.js";
import type { Logger } from "../../internal/logger.js";
import { backoff, Wake } from "../storage/wake.js";
import { publishBatch } from "./batch.js";
import type { RelayLease } from "./lease.js";
import type { OutboxSettings } from "./options.js";
import { RestingTopics } from "./resting-topics.js";
import type { OutboxStorage, StoredMessage } from "./storage.js";

/** Milliseconds that a broker may take for a batch. */
const publishWithin = 30_000;
/** Failures in a row after which another process may try. */
const patience = 3;
/** Milliseconds between two looks at messages that are held for no reason any more. */
const sweepInterval = 30_000;
const longestPause = 5000;
/** Milliseconds between two batches, if the last one was not full. */
const gatherTime = 10;

export interface RelayParts {
  readonly broker: BrokerName;
  readonly storage: OutboxStorage;
  readonly lease: RelayLease;
  readonly messaging: Messaging;
  readonly settings: OutboxSettings;
  readonly logger: Logger;
}

/**
 * Publishes the messages of the outbox for one broker. Of all processes one does so at a time; the others ask for the lease
 * at intervals. A batch is read, published and deleted; if the process ends between the last two, it is published again.
 */
export class Relay {
  readonly #parts: RelayParts;
  readonly #wake = new Wake();
  /** Woken by the end of the process only: a worker without the lease does not need to know of new messages. */
  readonly #end = new Wake();
  readonly #loop: Promise<void>;
  #draining = false;
  #failures = 0;
  #nextDue: number | null = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;
  readonly #resting = new RestingTopics();

  constructor(parts: RelayParts) {
    this.#parts = parts;
    this.#loop = this.#run();
  }

  readonly wake = (): void => this.#wake.wake();

  /** True if this process publishes. */
  get active(): boolean {
    return this.#parts.lease.held;
  }

  /** Finishes the batch under way. Another process goes on. */
  async drain(): Promise<void> {
    this.#draining = true;
    this.#wake.wake();
    this.#end.wake();
    await this.#loop;
    await this.#parts.lease.close();
  }

  async #run(): Promise<void> {
    const { lease, settings, logger, broker } = this.#parts;
    while (!this.#draining) {
      try {
        if (!lease.held) {
          if (!(await lease.acquire())) {
            await this.#end.wait(settings.pollMs);
            continue;
          }
          this.#sweptAt = Number.NEGATIVE_INFINITY;
          this.#nextDue = 0;
        }
        const more = await this.#cycle();
        this.#failures = 0;
        if (!more && !this.#draining) await this.#wake.wait(this.#idleTime());
      } catch (error) {
        if (this.#draining) return;
        logger.warn("messages of the outbox were not published and are tried again", { broker, error });
        await this.#stepBack();
      }
    }
  }

  #idleTime(): number {
    // Messages that are due may belong to a topic that rests.
    const due = this.#resting.left() ?? this.#nextDue ?? Number.POSITIVE_INFINITY;
    return Math.min(this.#parts.settings.pollMs, Math.max(due, 1));
  }

  /** A process that cannot reach its broker or its database lets the others try. */
  async #stepBack(): Promise<void> {
    const { lease, settings } = this.#parts;
    const pause = backoff(this.#failures, 50, longestPause);
    if (++this.#failures >= patience && lease.held) await lease.release();
    await this.#end.wait(Math.max(pause, this.#failures >= patience ? settings.pollMs : 0));
  }

  /** One batch. True if there may be more. */
  async #cycle(): Promise<boolean> {
    const { broker, storage, settings } = this.#parts;
    if (performance.now() - this.#sweptAt > sweepInterval) {
      await storage.releaseHeld(broker);
      this.#sweptAt = performance.now();
    }
    if (this.#nextDue !== null && this.#nextDue <= 1) {
      await storage.promote(broker);
      await this.#publish(await storage.failedAndDue(broker, this.#resting.now()));
    }
    const messages = await storage.ready(broker, settings.batchSize, this.#resting.now());
    if (messages.length === 0) {
      this.#nextDue = await storage.nextDue(broker);
      return false;
    }
    await this.#publish(messages);
    // Messages that are stored one by one are gathered: a look for each would cost as much as the messages.
    if (messages.length < settings.batchSize && !this.#draining) await this.#end.wait(gatherTime);
    return true;
  }

  async #publish(messages: readonly StoredMessage[]): Promise<void> {
    if (messages.length === 0) return;
    const { broker, lease, settings } = this.#parts;
    const free = messages.filter(({ blocked }) => !blocked);
    const { settlement, away, recovered } = await publishBatch(
      free,
      broker,
      (records) => this.#send(records),
      settings,
    );
    const blocked = messages.filter((message) => message.blocked).map(({ id }) => id);
    const { published, failed } = settlement;
    this.#note(await lease.settle({ published, failed, held: [...settlement.held, ...blocked] }));
    this.#report(failed);
    if (recovered) this.#sweptAt = Number.NEGATIVE_INFINITY;
    for (const { topic } of away.size < free.length ? free : []) if (!away.has(topic)) this.#resting.succeeded(topic);
    for (const topic of away.keys()) this.#resting.failed(topic);
    const [error] = away.values();
    if (error === undefined) return;
    // Nothing went through: the broker is away, at least for this process.
    if (published.length + failed.length === 0) throw error;
    this.#parts.logger.warn("topics of the outbox cannot be reached", { broker, topics: [...away.keys()], error });
  }

  async #send(records: readonly OutgoingRecord[]): Promise<readonly (MessagingError | null)[]> {
    const { lease, messaging, broker } = this.#parts;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const text = `the ${broker} broker did not confirm a batch within ${publishWithin / 1000} s`;
      timer = setTimeout(() => reject(new MessagingError("TIMEOUT", text)), publishWithin);
    });
    try {
      // Checked in the turn in which the records are handed over: a process that was paused until now must not send them.
      if (!lease.held)
        throw new MessagingError("CLOSED", "another process may publish the messages of the outbox by now");
      return await Promise.race([messaging.forward(broker, records), late]);
    } finally {
      clearTimeout(timer);
    }
  }

  #note(state: { readonly nextDue: number | null } | null): void {
    if (state === null) throw new Error("another process publishes the messages of the outbox now");
    this.#nextDue = state.nextDue;
  }

  #report(failed: readonly { readonly error: string; readonly pause: number | null }[]): void {
    const { logger, broker } = this.#parts;
    const stuck = failed.filter(({ pause }) => pause === null);
    if (stuck.length > 0) {
      logger.error(`${stuck.length} messages of the outbox are stuck`, { broker, error: stuck[0]!.error });
    } else if (failed.length > 0) {
      logger.warn(`${failed.length} messages of the outbox failed and are tried again`, {
        broker,
        error: failed[0]!.error,
      });
    }
  }
}
