import { Lease } from "../../durable/lease.js";
import { Wake } from "../../durable/wake.js";
import type { BrokerName, OutgoingRecord } from "../../engines/messaging/broker.js";
import { MessagingError } from "../../engines/messaging/errors.js";
import type { Messaging } from "../../engines/messaging/messaging.js";
import type { Logger } from "../../kit/logger.js";
import { backoff } from "../../kit/time/backoff.js";
import { milliseconds } from "../../kit/time/duration.js";
import { within } from "../../kit/time/within.js";
import { publishBatch } from "./batch.js";
import type { OutboxSettings } from "./options.js";
import { RestingTopics } from "./resting-topics.js";
import type { OutboxStorage, Settlement, StoredMessage } from "./storage.js";

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
  /** The name of this worker. */
  readonly owner: string;
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
  #lease: Lease<{ readonly token: number }> | null = null;
  #draining = false;
  #failures = 0;
  #nextDue: number | null = 0;
  #sweptAt = Number.NEGATIVE_INFINITY;
  /** The clock of the database at the last sweep. Before the first one it may have been set back. */
  #clock = Number.POSITIVE_INFINITY;
  readonly #resting = new RestingTopics();

  constructor(parts: RelayParts) {
    this.#parts = parts;
    this.#loop = this.#run();
  }

  readonly wake = (): void => this.#wake.wake();

  /** True if this process publishes. */
  get active(): boolean {
    return this.#lease?.held ?? false;
  }

  /** Finishes the batch under way. Another process continues. */
  async drain(): Promise<void> {
    this.#draining = true;
    this.#wake.wake();
    this.#end.wake();
    await this.#loop;
    await this.#release();
  }

  async #run(): Promise<void> {
    const { settings, logger, broker } = this.#parts;
    while (!this.#draining) {
      try {
        if (!(await this.#isHeld())) {
          if (!(await this.#claim())) {
            await this.#end.wait(milliseconds(settings.poll));
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

  /** A lease that is over and that no other process has taken is renewed: the process was paused or blocked. */
  async #isHeld(): Promise<boolean> {
    const lease = this.#lease;
    if (lease === null) return false;
    if (lease.held || (!lease.lost.aborted && (await lease.renew()))) return true;
    await this.#release();
    return false;
  }

  async #claim(): Promise<boolean> {
    const { broker, storage, owner, logger } = this.#parts;
    const leaseMs = milliseconds(this.#parts.settings.lease);
    const source = {
      name: `the outbox of ${broker}`,
      claim: () => storage.leases.claim(broker, owner, leaseMs),
      renew: (token: number) => storage.leases.renew(broker, token, leaseMs),
      release: (token: number) => storage.leases.release(broker, token),
    };
    this.#lease = await Lease.claim(source, leaseMs, logger);
    return this.#lease !== null;
  }

  async #release(): Promise<void> {
    const lease = this.#lease;
    this.#lease = null;
    await lease?.release();
  }

  #idleTime(): number {
    // Messages that are due may belong to a topic that rests.
    const due = this.#resting.left() ?? this.#nextDue ?? Number.POSITIVE_INFINITY;
    return Math.min(milliseconds(this.#parts.settings.poll), Math.max(due, 1));
  }

  /** A process that cannot reach its broker or its database lets the others try. */
  async #stepBack(): Promise<void> {
    const { settings } = this.#parts;
    const pause = backoff(this.#failures, 50, longestPause);
    if (++this.#failures >= patience) await this.#release();
    await this.#end.wait(Math.max(pause, this.#failures >= patience ? milliseconds(settings.poll) : 0));
  }

  /** One batch. True if there may be more. */
  async #cycle(): Promise<boolean> {
    const { broker, storage, settings } = this.#parts;
    if (performance.now() - this.#sweptAt > sweepInterval) {
      await storage.releaseHeld(broker);
      const clock = await storage.clock();
      if (clock < this.#clock - 1) await storage.afterSetBack(broker);
      this.#clock = clock;
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
    const { broker, settings } = this.#parts;
    const free = messages.filter(({ blocked }) => !blocked);
    const { settlement, away, recovered } = await publishBatch(
      free,
      broker,
      (records) => this.#send(records),
      settings,
    );
    const blocked = messages.filter((message) => message.blocked).map(({ id }) => id);
    const { published, failed } = settlement;
    await this.#settle({ published, failed, held: [...settlement.held, ...blocked] });
    this.#report(failed);
    if (recovered) this.#sweptAt = Number.NEGATIVE_INFINITY;
    for (const { topic } of away.size < free.length ? free : []) if (!away.has(topic)) this.#resting.succeeded(topic);
    for (const topic of away.keys()) this.#resting.failed(topic);
    const [error] = away.values();
    if (error === undefined) return;
    // Nothing went through: the broker cannot be reached, at least for this process.
    if (published.length + failed.length === 0) throw error;
    this.#parts.logger.warn("topics of the outbox cannot be reached", { broker, topics: [...away.keys()], error });
  }

  async #send(records: readonly OutgoingRecord[]): Promise<readonly (MessagingError | null)[]> {
    const { messaging, broker } = this.#parts;
    // Checked in the turn in which the records are handed over: a process that was paused until now must not send them.
    if (!this.active) throw new MessagingError("CLOSED", "another process may now publish the messages of the outbox");
    return within(messaging.forward(broker, records), publishWithin, () => {
      const text = `the ${broker} broker did not confirm a batch within ${publishWithin / 1000} s`;
      throw new MessagingError("TIMEOUT", text);
    });
  }

  /** Records the outcome of a batch and renews the lease; nothing is recorded if another process has it. */
  async #settle(settlement: Settlement): Promise<void> {
    const { broker, storage, settings } = this.#parts;
    const { term, claim } = this.#lease!;
    const extended = term.extend();
    const { held, nextDue } = await storage.settle(broker, claim.token, milliseconds(settings.lease), settlement);
    if (!held) {
      await this.#release();
      throw new Error("another process publishes the messages of the outbox now");
    }
    extended();
    this.#nextDue = nextDue;
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
