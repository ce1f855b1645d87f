import { setMaxListeners } from "node:events";
import { backoff } from "../../../kit/time/backoff.js";
import { Deadlines } from "../../../kit/time/deadlines.js";
import { LoopWatch } from "../../../kit/time/loop-watch.js";
import { sleep, within } from "../../../kit/time/within.js";
import type { BrokerConsumer, Delivery, DeliverySink, IncomingRecord, SeekTarget } from "../broker.js";
import { MessagingError } from "../errors.js";
import { countIn, frameworkHeaders } from "../headers.js";
import type { ValueSchema } from "../topic.js";
import { handleAlone, workBatch } from "./batch-work.js";
import { Batches } from "./batches.js";
import { acknowledged } from "./conclude.js";
import { Finished } from "./finished.js";
import type { BatchRun, HandlerRun } from "./handler.js";
import { type ConsumerContext, type Ended, InFlightMessage, type WorkResult } from "./in-flight-message.js";
import { type Flow, Lanes } from "./lanes.js";
import type { AttemptResult } from "./outcome.js";
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
  /**
   * Goes to the oldest message, the end, or the first message of a time, where the broker can. On Kafka also to an offset of a
   * partition that this process has: `seek({ partition: 0, offset: 42 })`.
   */
  seek(to: SeekTarget): Promise<void>;
  /** Messages that the group has not handled yet; null if the broker does not say. */
  lag(): Promise<number | null>;
  /** The same by the numbers of partitions; null where the broker has none. */
  lags(): Promise<ReadonlyMap<number, number> | null>;
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

export interface ConsumerParts extends Omit<ConsumerContext, "deadlines" | "stopping" | "withoutSlot" | "fault"> {
  /** Handles single messages, or batches. */
  readonly run: HandlerRun | BatchRun;
  /** The name of the handler, for the log. */
  readonly handler: string;
  /** True if the topic was found by a pattern. */
  readonly isFound: boolean;
  readonly onResult: (result: WorkResult) => void;
  readonly onClosed: (consumer: Consumer) => void;
}

export const noResults: Readonly<Record<WorkResult, number>> = {
  done: 0,
  retried: 0,
  requeued: 0,
  rejected: 0,
  dead: 0,
  duplicate: 0,
  released: 0,
  lost: 0,
};

const firstPause = 250;
const longestPause = 15_000;
/** Milliseconds until a message is given back after a fault of the consumer itself. */
const faultPause = 1000;
/** Milliseconds of an attempt that may have blocked the event loop for too long. */
const longAttempt = 1000;
/** Milliseconds between two looks at the event loop, and the shortest block that counts. */
const lookEvery = 1000;
/** Milliseconds after a block in which a connection is lost because of it. */
const blockedBefore = 5000;

/** Takes deliveries from a broker and has them handled: concurrency, order, the drain, and the reopening after a failure. */
export class Consumer implements Subscription {
  readonly topic: string;
  readonly group: string;
  readonly #parts: ConsumerParts;
  readonly #context: ConsumerContext;
  readonly #flow: Flow<InFlightMessage>;
  readonly #stopping = new AbortController();
  readonly #inFlight = new Map<Delivery, InFlightMessage>();
  readonly #results = { ...noResults };
  #watch: LoopWatch | undefined;
  /** The last block of the event loop. */
  #block = { length: 0, end: 0 };
  /** The last attempt that took long, with the times on the monotonic clock. */
  #long = { begun: 0, ended: 0 };
  #finished = new Finished();
  #source: BrokerConsumer | null = null;
  #paused = false;
  #opening: Promise<void> | null = null;
  #draining: Promise<void> | null = null;

  constructor(parts: ConsumerParts) {
    const { topic, settings } = parts;
    this.topic = topic;
    this.group = settings.group;
    this.#parts = parts;
    const stopping = this.#stopping.signal;
    setMaxListeners(0, stopping);
    const withoutSlot = <T>(inFlight: InFlightMessage, wait: () => Promise<T>) =>
      this.#flow.withoutSlot(inFlight, wait);
    const deadlines = new Deadlines(settings.timeout, { keepsAlive: true });
    const fault = (inFlight: InFlightMessage, error: unknown) => this.#fault(inFlight, error);
    const attempted = (start: number, ok: boolean) => {
      const now = performance.now();
      if (now - start > longAttempt) this.#long = { begun: start, ended: now };
      parts.attempted(start, ok);
    };
    this.#context = { ...parts, attempted, deadlines, stopping, withoutSlot, fault };
    this.#flow = this.#makeFlow();
  }

  get connected(): boolean {
    return this.#source !== null;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Opens the consumer for the first time. Rejects if the broker refuses it. One that is lost right after is opened again. */
  async open(): Promise<void> {
    this.#watch ??= new LoopWatch(lookEvery, (late) => {
      if (late > lookEvery) this.#block = { length: late + lookEvery, end: performance.now() };
    });
    try {
      this.#source = await this.#open();
    } catch (error) {
      if (!(error instanceof MessagingError) || error.code !== "LOST") throw error;
      this.#failed(error);
    }
  }

  pause(): void {
    this.#paused = true;
    this.#source?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#source?.resume();
  }

  async seek(to: SeekTarget): Promise<void> {
    const { broker } = this.#parts;
    if (!broker.abilities.seek) throw new MessagingError("UNSUPPORTED", `the ${broker.name} broker cannot seek`);
    if (this.#source?.seek === undefined) throw new MessagingError("UNREACHABLE", "the consumer is not connected");
    // What was handled is to be handled again. That goes for messages too that are under way now, and come while it seeks.
    this.#finished = new Finished();
    await this.#source.seek(to);
    this.#finished = new Finished();
  }

  async lag(): Promise<number | null> {
    return (await this.#source?.lag()) ?? null;
  }

  async lags(): Promise<ReadonlyMap<number, number> | null> {
    return (await this.#source?.lags?.()) ?? null;
  }

  stats(): SubscriptionStats {
    return { running: this.#flow.running, held: this.#inFlight.size, results: { ...this.#results } };
  }

  close(): Promise<void> {
    return this.drain(20_000);
  }

  get schema(): ValueSchema | null {
    return this.#parts.settings.schema;
  }

  /** Runs the handler once with a record that no broker has delivered: for tests. */
  handleOnce(record: IncomingRecord, attempt: number): Promise<AttemptResult> {
    const nothing = async () => {};
    const inFlight = new InFlightMessage({ record, earlier: 0, ack: nothing, release: nothing }, this.#context);
    const { run } = this.#parts;
    if (typeof run === "function") return handleBehindInbox(inFlight, run, attempt);
    return handleAlone(inFlight, run, attempt);
  }

  /**
   * Ends the consumer: no further messages, the running handlers finish and are settled, the other messages are given back,
   * the group is left. Handlers that run longer are aborted, and their messages go to others.
   */
  drain(timeoutMs: number): Promise<void> {
    return (this.#draining ??= this.#drain(timeoutMs));
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
      lost: (delivery) => {
        this.#explainLoss();
        this.#inFlight.get(delivery)?.lose();
      },
      unconfirmed: (identities) => {
        for (const identity of identities) this.#finished.add(identity);
      },
      hold: async (timeoutMs, isHeld = () => true) => {
        const isTask = ({ delivery }: InFlightMessage) => isHeld(delivery);
        // Messages of a consumer that ends are given back: they must pass.
        if (!this.#stopping.signal.aborted) this.#flow.pause(isTask);
        await within(this.#flow.quiet(isTask), timeoutMs);
      },
      resume: () => this.#flow.resume(),
      failed: (error) => {
        if (opening.over) return;
        opening.over = true;
        this.#explainLoss();
        this.#flow.resume();
        for (const inFlight of this.#inFlight.values()) if (inFlight.opening === opening) inFlight.lose();
        if (opening.begun) this.#failed(error);
      },
    };
    const mustExist = this.#parts.isFound;
    const request = { topic, group, prefetch, from, broadcast, deadLetterTopic, maxDeliveries, mustExist };
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
    const only = delivery.record.headers[frameworkHeaders.group];
    if (only !== undefined && only !== this.group) {
      // It was sent back from the dead letters of another group.
      void new InFlightMessage(delivery, this.#context).settle(async () => delivery.ack()).catch(() => {});
      return;
    }
    const inFlight = new InFlightMessage(delivery, this.#context, opening, this.#finished);
    this.#inFlight.set(delivery, inFlight);
    if (this.#isFinished(delivery)) {
      const ended = (result: WorkResult) => this.#ended(inFlight, result);
      // In a later turn: brokers deliver while they change what they hold.
      setImmediate(() => void Promise.resolve(acknowledged(inFlight, "duplicate")).then(ended));
      return;
    }
    this.#flow.add(inFlight);
  }

  /** True for a message whose handler has finished here. */
  #isFinished(delivery: Delivery): boolean {
    if (this.#finished.size === 0 || typeof delivery.identity !== "string") return false;
    return this.#finished.take(delivery.identity) && delivery.isFirst !== true;
  }

  /** Says why messages are lost, if the event loop did not run for long and a handler may be to blame. */
  #explainLoss(): void {
    this.#watch?.look();
    const { length: blocked, end } = this.#block;
    this.#block = { length: 0, end: 0 };
    const now = performance.now();
    if (blocked === 0 || now - end >= blockedBefore) return;
    const since = now - blocked - longAttempt;
    const running = [...this.#inFlight.values()].flatMap(({ begun }) => (begun === null ? [] : [now - begun]));
    if (this.#long.ended > since) running.push(this.#long.ended - this.#long.begun);
    if (running.length === 0) return;
    const seconds = (milliseconds: number) => Math.round(milliseconds / 100) / 10;
    this.#parts.logger.warn(
      `the event loop did not run for ${seconds(blocked)} s while the handler of '${this.topic}' ran: the broker took this ` +
        "process for dead, and delivers its messages again. Let the handler yield, move its work to a worker thread, or " +
        "raise 'sessionTimeout' (Kafka), 'heartbeat' (RabbitMQ) or 'visibilityTimeout' (SQS)",
      { topic: this.topic, handler: this.#parts.handler, handler_seconds: seconds(Math.max(...running)) },
    );
  }

  #ended(inFlight: InFlightMessage, result: WorkResult): void {
    this.#inFlight.delete(inFlight.delivery);
    this.#results[result]++;
    try {
      this.#parts.onResult(result);
    } catch (error) {
      this.#parts.logger.error(`a result of '${this.topic}' could not be counted`, { error });
    }
  }

  #makeFlow(): Flow<InFlightMessage> {
    const { run, settings } = this.#parts;
    const ended: Ended = (inFlight, result) => this.#ended(inFlight, result);
    if (typeof run === "function") {
      const end: Ended = (inFlight, result) => {
        ended(inFlight, result);
        lanes.end(inFlight);
      };
      const lanes: Lanes<InFlightMessage> = new Lanes(
        settings.concurrency,
        ({ delivery }) => delivery.record.key,
        (inFlight) => work(inFlight, run, end),
      );
      return lanes;
    }
    return new Batches({
      ...(settings.batch ?? { size: 1, wait: 0 }),
      concurrency: settings.concurrency,
      strict: settings.transactional,
      stopping: this.#stopping.signal,
      ended,
      attemptsOf: (inFlight) => countIn(inFlight.delivery.record.headers, frameworkHeaders.attempt),
      work: (batch) =>
        workBatch(batch, this.#context, run).catch((error) =>
          Promise.all(batch.map(({ inFlight }) => this.#fault(inFlight, error))),
        ),
    });
  }

  /** A fault of this machinery must not lose the message: the broker gets it back. */
  async #fault(inFlight: InFlightMessage, error: unknown): Promise<WorkResult> {
    this.#parts.logger.error(`the consumer of '${this.topic}' failed`, { error });
    // Not at once: it may fail in the same way as soon as it is back.
    await this.#flow.withoutSlot(inFlight, () => sleep(faultPause, this.#stopping.signal, inFlight.signal));
    await inFlight.settle((delivery) => delivery.release()).catch(() => {});
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
    for (let attempt = 0; ; attempt++) {
      await sleep(backoff(attempt, firstPause, longestPause), signal);
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

  async #drain(timeoutMs: number): Promise<void> {
    this.#stopping.abort();
    this.#flow.resume();
    const { logger } = this.#parts;
    await this.#opening;
    await this.#source?.stop().catch((error: unknown) => logger.warn("a consumer could not be stopped", { error }));
    if (await within(this.#flow.idle(), timeoutMs, () => true)) {
      const late = [...this.#inFlight.values()];
      logger.warn(`${late.length} messages of '${this.topic}' were not finished in time: they go to others`);
      const releases = late.map((inFlight) => {
        const release = inFlight.settle((delivery) => delivery.release()).catch(() => {});
        inFlight.abort(new MessagingError("LOST", "the consumer ends"));
        return release.then(() => inFlight.lose());
      });
      await Promise.all(releases);
    }
    await this.#source?.close().catch((error: unknown) => logger.warn("a consumer could not be closed", { error }));
    this.#source = null;
    this.#watch?.stop();
    this.#parts.onClosed(this);
  }
}
