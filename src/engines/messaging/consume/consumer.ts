import { setMaxListeners } from "node:events";
import type { Logger } from "../../../internal/logger.js";
import type { Tracer } from "../../../internal/tracer.js";
import type { Broker, BrokerConsumer, Delivery, DeliverySink, IncomingRecord } from "../broker.js";
import { MessagingError } from "../errors.js";
import { countIn, own } from "../headers.js";
import type { Publisher } from "../publish/publisher.js";
import { handleAlone, workBatch } from "./batch-work.js";
import { Batches } from "./batches.js";
import { Deadlines } from "./deadlines.js";
import type { BatchRun, HandlerRun } from "./handler.js";
import { Held } from "./held.js";
import type { Inbox, InboxOutcome } from "./inbox.js";
import type { ConsumerSettings } from "./options.js";
import type { WorkPlace, WorkResult } from "./place.js";
import type { ProcessedStore } from "./processed.js";
import { type Ended, type Flow, Singles } from "./singles.js";
import { sleep } from "./sleep.js";
import { handleBehindInbox, work } from "./work.js";

/** A running consumer. */
export interface Subscription {
  readonly topic: string;
  readonly group: string;
  /** True while the broker has it as a consumer. False while it is opened again after a failure. */
  readonly connected: boolean;
  readonly paused: boolean;
  /** Takes no further messages until `resume()`. Those under way are finished. */
  pause(): void;
  resume(): void;
  /** Goes to the oldest message, the end, or the first message of a time, where the broker can. */
  seek(to: "start" | "end" | Date): Promise<void>;
  /** Messages that the group has not handled yet; null if the broker does not say. */
  lag(): Promise<number | null>;
  stats(): SubscriptionStats;
  /** Finishes the messages under way, gives back the others and leaves the group. */
  close(): Promise<void>;
}

export interface SubscriptionStats {
  /** Handlers that run now. */
  readonly running: number;
  /** Messages that were taken over and are not settled: those that run, wait for others of their key, or pause. */
  readonly held: number;
  /** Messages by the way they ended, since the start. */
  readonly results: Readonly<Record<WorkResult, number>>;
}

export interface ConsumerParts {
  readonly topic: string;
  readonly broker: Broker;
  readonly publisher: Publisher;
  readonly settings: ConsumerSettings;
  /** Handles single messages, or batches. */
  readonly run: HandlerRun | BatchRun;
  readonly store: ProcessedStore | null;
  readonly inbox: Inbox | null;
  readonly logger: Logger;
  readonly tracer: () => Tracer | null;
  readonly onAttempt: (start: number, ok: boolean) => void;
  readonly onResult: (result: WorkResult) => void;
  readonly onClosed: (consumer: Consumer) => void;
}

const firstPause = 250;
const longestPause = 15_000;

/** Takes deliveries from a broker and has them handled: concurrency, order, the drain, and the reopening after a failure. */
export class Consumer implements Subscription {
  readonly topic: string;
  readonly group: string;
  readonly #parts: ConsumerParts;
  readonly #place: WorkPlace;
  readonly #flow: Flow;
  readonly #stopping = new AbortController();
  readonly #held = new Map<Delivery, Held>();
  readonly #results: Record<WorkResult, number>;
  #source: BrokerConsumer | null = null;
  #paused = false;
  #opening: Promise<void> | null = null;
  #draining: Promise<void> | null = null;

  constructor(parts: ConsumerParts) {
    const { topic, settings, broker, publisher, store, inbox, logger, tracer, onAttempt } = parts;
    this.topic = topic;
    this.group = settings.group;
    this.#parts = parts;
    this.#results = {
      done: 0,
      retried: 0,
      requeued: 0,
      rejected: 0,
      dead: 0,
      duplicate: 0,
      released: 0,
      lost: 0,
    };
    const stopping = this.#stopping.signal;
    setMaxListeners(0, stopping);
    const outside = <T>(wait: () => Promise<T>) => this.#flow.outside(wait);
    const shared = { topic, settings, broker, publisher, store, inbox, logger };
    const deadlines = new Deadlines(settings.timeout);
    const fault = (held: Held, error: unknown) => this.#fault(held, error);
    this.#place = { ...shared, deadlines, stopping, tracer, outside, attempted: onAttempt, fault };
    this.#flow = this.#makeFlow();
  }

  get connected(): boolean {
    return this.#source !== null;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Opens the consumer for the first time. Rejects if the broker refuses it. */
  async open(): Promise<void> {
    this.#source = await this.#open();
  }

  pause(): void {
    this.#paused = true;
    this.#source?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#source?.resume();
  }

  async seek(to: "start" | "end" | Date): Promise<void> {
    const { broker } = this.#parts;
    if (!broker.abilities.seek) throw new MessagingError("UNSUPPORTED", `the ${broker.name} broker cannot seek`);
    if (this.#source?.seek === undefined) throw new MessagingError("UNREACHABLE", "the consumer is not connected");
    await this.#source.seek(to);
  }

  async lag(): Promise<number | null> {
    return (await this.#source?.lag()) ?? null;
  }

  stats(): SubscriptionStats {
    return { running: this.#flow.running, held: this.#held.size, results: { ...this.#results } };
  }

  close(): Promise<void> {
    return this.drain(20_000);
  }

  /** Runs the handler once with a record that no broker has delivered: for tests. */
  handleOnce(record: IncomingRecord, attempt: number): Promise<InboxOutcome> {
    const nothing = async () => {};
    const held = new Held({ record, earlier: 0, ack: nothing, release: nothing });
    const { run } = this.#parts;
    if (typeof run === "function") return handleBehindInbox(held, this.#place, run, attempt);
    return handleAlone(held, this.#place, run, attempt);
  }

  /**
   * Ends the consumer: no further messages, the running handlers finish and are settled, the other messages are given back,
   * the group is left. Handlers that run longer are aborted, and their messages go to others.
   */
  drain(timeout: number): Promise<void> {
    return (this.#draining ??= this.#drain(timeout));
  }

  async #open(): Promise<BrokerConsumer> {
    const { broker, settings, topic } = this.#parts;
    const { group, prefetch, from, broadcast, maxDeliveries, deadLetter: deadLetterTopic } = settings;
    // Deliveries and failures of an opening that is over do not count.
    const opening = { begun: false, over: false };
    const sink: DeliverySink = {
      deliver: (delivery) => {
        if (!opening.over) this.#take(delivery, opening);
      },
      lost: (delivery) => this.#held.get(delivery)?.lose(),
      failed: (error) => {
        if (opening.over) return;
        opening.over = true;
        for (const held of this.#held.values()) if (held.opening === opening) held.lose();
        if (opening.begun) this.#failed(error);
      },
    };
    const request = { topic, group, prefetch, from, broadcast, deadLetterTopic, maxDeliveries };
    const source = await broker.consume(request, sink);
    opening.begun = true;
    if (opening.over) {
      source.close().catch(() => {});
      throw new MessagingError("LOST", "the consumer failed while it was being opened");
    }
    if (this.#paused) source.pause();
    return source;
  }

  #take(delivery: Delivery, opening: object): void {
    const only = delivery.record.headers[own.group];
    if (only !== undefined && only !== this.group) {
      // It was sent back from the dead letters of another group.
      void new Held(delivery).settle(async () => delivery.ack()).catch(() => {});
      return;
    }
    const held = new Held(delivery, opening);
    this.#held.set(delivery, held);
    this.#flow.add(held);
  }

  #ended(held: Held, result: WorkResult): void {
    this.#held.delete(held.delivery);
    this.#results[result]++;
    try {
      this.#parts.onResult(result);
    } catch (error) {
      this.#parts.logger.error(`a result of '${this.topic}' could not be counted`, { error });
    }
  }

  #makeFlow(): Flow {
    const { run, settings } = this.#parts;
    const ended: Ended = (held, result) => this.#ended(held, result);
    if (typeof run === "function") {
      return new Singles(settings.concurrency, (held, end) => work(held, this.#place, run, end), ended);
    }
    return new Batches({
      ...(settings.batch ?? { size: 1, wait: 0 }),
      concurrency: settings.concurrency,
      strict: settings.transactional,
      stopping: this.#stopping.signal,
      ended,
      attemptsOf: (held) => countIn(held.delivery.record.headers, own.attempt),
      work: (batch) =>
        workBatch(batch, this.#place, run).catch((error) =>
          Promise.all(batch.map(({ held }) => this.#fault(held, error))),
        ),
    });
  }

  /** A fault of this machinery must not lose the message: the broker gets it back. */
  async #fault(held: Held, error: unknown): Promise<WorkResult> {
    this.#parts.logger.error(`the consumer of '${this.topic}' failed`, { error });
    await held.settle((delivery) => delivery.release()).catch(() => {});
    return "released";
  }

  #failed(error: unknown): void {
    const source = this.#source;
    this.#source = null;
    source?.close().catch(() => {});
    if (this.#stopping.signal.aborted) return;
    this.#parts.logger.warn(`the consumer of '${this.topic}' lost its broker`, { error });
    this.#opening ??= this.#reopen().finally(() => {
      this.#opening = null;
    });
  }

  async #reopen(): Promise<void> {
    const { signal } = this.#stopping;
    for (let pause = firstPause; ; pause = Math.min(pause * 2, longestPause)) {
      // Half of the pause is random, so that the workers of a service do not come back all at once.
      await sleep(pause / 2 + (Math.random() * pause) / 2, signal);
      if (signal.aborted) return;
      try {
        const source = await this.#open();
        if (signal.aborted) return void source.close().catch(() => {});
        this.#source = source;
        this.#parts.logger.info(`the consumer of '${this.topic}' is connected again`);
        return;
      } catch (error) {
        this.#parts.logger.warn(`the consumer of '${this.topic}' cannot connect`, { error });
      }
    }
  }

  async #drain(timeout: number): Promise<void> {
    this.#stopping.abort();
    const { logger } = this.#parts;
    await this.#opening;
    await this.#source?.stop().catch((error: unknown) => logger.warn("a consumer could not be stopped", { error }));
    if (!(await this.#idleWithin(timeout))) {
      const late = [...this.#held.values()];
      logger.warn(`${late.length} messages of '${this.topic}' were not finished in time: they go to others`);
      for (const held of late) {
        const release = held.settle((delivery) => delivery.release()).catch(() => {});
        held.abort(new MessagingError("LOST", "the consumer ends"));
        await release;
        held.lose();
      }
    }
    await this.#source?.close().catch((error: unknown) => logger.warn("a consumer could not be closed", { error }));
    this.#source = null;
    this.#parts.onClosed(this);
  }

  async #idleWithin(timeout: number): Promise<boolean> {
    const enough = new AbortController();
    const idle = this.#flow.idle().then(() => true);
    const late = sleep(timeout, enough.signal).then(() => false);
    try {
      return await Promise.race([idle, late]);
    } finally {
      enough.abort();
    }
  }
}
