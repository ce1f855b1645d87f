import { newOwner, pulseOf, watched } from "../../durable/pulse.js";
import type { Database } from "../../engines/db/database.js";
import type { Logger } from "../../kit/logger.js";
import { show } from "../../kit/options.js";
import { poll } from "../../kit/time/backoff.js";
import { milliseconds } from "../../kit/time/duration.js";
import { within } from "../../kit/time/within.js";
import { ValueError } from "../../kit/value-error.js";
import { ArchiveWorker } from "./archive-worker.js";
import { causedBy } from "./cause.js";
import type { EventSourcingConfig } from "./config.js";
import type { EventMonitor } from "./monitor.js";
import { type WaitForOptions, waitForOptions } from "./options.js";
import type { Projection } from "./projections/projection.js";
import { ProjectionManager } from "./projections/projection-manager.js";
import { lowestCheckpoint, ShardedSubscription, type ShardSurroundings } from "./sharded-subscription.js";
import type { EventStorage } from "./storage/storage.js";
import type { EventSubscription, SubscriptionSettings } from "./subscription.js";
import {
  type Batch,
  ClaimLost,
  type RunnerProgress,
  type RunnerSettings,
  SubscriptionRunner,
} from "./subscription-runner.js";
import type { Upcasters } from "./upcasters.js";

/** Milliseconds that the handlers in progress have at the end of the application. */
const closeGrace = 10_000;
/** Milliseconds between two looks for streams to archive. */
const archiveInterval = 600_000;

/** The subscriptions and projections of one process. */
export class EventWorkers {
  readonly #owner = newOwner();
  readonly #running = new Map<string, { close(): Promise<void> }>();
  readonly #projections = new Map<string, ProjectionManager>();
  readonly #runners = new Set<SubscriptionRunner>();
  readonly #leaseMs: number;
  readonly #pollMs: number;
  #hasInline = false;
  #leave: (() => Promise<void>) | null = null;

  constructor(
    readonly storage: EventStorage,
    /** Null where events are in memory. */
    readonly db: Database | null,
    readonly config: EventSourcingConfig,
    readonly upcasters: Upcasters,
    readonly logger: Logger,
  ) {
    this.#leaseMs = milliseconds(config.lease);
    this.#pollMs = milliseconds(config.poll);
  }

  /** Null where neither metrics nor spans are enabled. */
  monitor: EventMonitor | null = null;

  /** The state of the subscriptions and projections of this process. */
  *progress(): Generator<RunnerProgress> {
    for (const runner of this.#runners) {
      if (runner.ended) this.#runners.delete(runner);
      else yield runner.progress;
    }
  }

  /** Archives streams at intervals. */
  archiveAtIntervals(apply: (signal: AbortSignal) => Promise<number>): void {
    const worker = new ArchiveWorker(this.storage, this.#owner, this.#leaseMs, archiveInterval, this.logger, apply);
    this.#running.set("archive:policies", worker);
  }

  async open(): Promise<void> {
    if (this.db !== null) {
      const { schema } = this.config;
      const leaseMs = this.#leaseMs;
      const working = (): string[] => [...this.#runners].filter((runner) => runner.working).map(nameOf);
      this.#leave = await pulseOf(this.db, this.logger).join({ schema, leaseMs, owner: this.#owner, running: working });
    }
    await Promise.all([...this.#projections.values()].map((manager) => manager.prepare()));
  }

  subscribe(settings: SubscriptionSettings): EventSubscription {
    const { db, storage, logger } = this;
    const around = { db, storage, logger, schema: this.config.schema, owner: this.#owner, leaseMs: this.#leaseMs };
    const runner: ShardSurroundings["runner"] = (own, process) => this.#runner(own, process);
    const running = new ShardedSubscription(settings, { ...around, runner }, (own, batch) => this.#deliver(own, batch));
    return this.#keep(settings.name, running);
  }

  project(projection: Projection): EventSubscription {
    if (this.db === null) {
      throw new ValueError("projections need events in PostgreSQL or PGlite: call app.enableDatabase() too");
    }
    const manager = new ProjectionManager(projection, {
      db: this.db,
      schema: this.config.schema,
      pollMs: this.#pollMs,
      leaseMs: this.#leaseMs,
      storage: this.storage,
      upcasters: this.upcasters,
      logger: this.logger,
      owner: this.#owner,
      runner: (settings, process) =>
        this.#runner(
          settings,
          (batch) => this.monitor?.batch(settings.name, batch.events, () => process(batch)) ?? process(batch),
        ),
    });
    const subscription = this.#keep(`projection:${projection.name}`, manager);
    this.#projections.set(projection.name, manager);
    this.#hasInline ||= projection.mode === "inline";
    return subscription;
  }

  get projections(): readonly Projection[] {
    return [...this.#projections.values()].map(({ projection }) => projection);
  }

  /** The projections that handle the events of an append in its transaction. */
  inlineFor(category: string, types: readonly string[]): readonly ProjectionManager[] {
    if (!this.#hasInline) return [];
    return [...this.#projections.values()].filter((manager) => manager.isInlineFor(category, types));
  }

  rebuild(name: string): Promise<void> {
    const manager = this.#projections.get(name);
    if (manager === undefined) throw new ValueError(`there is no projection ${show(name)}`);
    return manager.rebuild();
  }

  async waitFor(
    target: string | { readonly name: string },
    position: number,
    options: WaitForOptions,
  ): Promise<boolean> {
    const reached = async (): Promise<number | null> => {
      if (typeof target === "string") {
        return (await this.storage.checkpoint(target)) ?? lowestCheckpoint(this.storage, target);
      }
      const manager = this.#projections.get(target.name);
      if (manager === undefined) throw new ValueError(`there is no projection ${show(target.name)}`);
      return manager.position();
    };
    const { timeoutMs, signal } = waitForOptions.read([options]);
    const isThere = async () => ((await reached()) ?? -1) >= position || null;
    return (await poll(isThere, { first: 2, longest: 50, timeoutMs, signal })) !== null;
  }

  /** The names of subscriptions and projections that have events to handle. */
  async behind(): Promise<string[]> {
    const mark = await this.storage.highWaterMark();
    const names: string[] = [];
    for (const runner of this.#runners) {
      const at = runner.ended ? mark : await this.storage.checkpoint(runner.settings.name);
      if ((at ?? 0) < mark) names.push(nameOf(runner));
    }
    return names;
  }

  async close(): Promise<void> {
    const closing = Promise.allSettled([...this.#running.values()].map((running) => running.close()));
    await within(closing, closeGrace, () => {
      this.logger.warn(`handlers of events did not end within ${closeGrace} ms`);
    });
    await this.#leave?.();
  }

  #runner(
    settings: Omit<RunnerSettings, "owner" | "leaseMs" | "pollMs">,
    process: (batch: Batch) => Promise<number | "end">,
  ): SubscriptionRunner {
    const whole = { ...settings, owner: this.#owner, leaseMs: this.#leaseMs, pollMs: this.#pollMs };
    const watched = (batch: Batch): Promise<number | "end"> =>
      this.monitor === null
        ? process(batch)
        : this.monitor.measure(settings.name, batch.events.length, () => process(batch));
    const runner = new SubscriptionRunner(whole, this.storage, this.upcasters, this.logger, watched);
    for (const one of this.#runners) if (one.ended) this.#runners.delete(one);
    this.#runners.add(runner);
    return runner;
  }

  /** Calls the handler for each event; what was handled before a failure is not repeated. */
  async #deliver({ name, handler }: SubscriptionSettings, batch: Batch): Promise<number> {
    const { events, from, upTo, token, signal, isHeld } = batch;
    const advance = async (position: number): Promise<void> => {
      if (await this.storage.advance(name, token, position)) return;
      // These events are handled, whichever worker has the claim now: the other worker need not handle them too.
      await this.storage.noteHandled(name, from, position);
      throw new ClaimLost();
    };
    const context = { signal, logger: this.logger };
    let done = 0;
    try {
      for (const event of events) {
        if (signal.aborted || !isHeld()) break;
        const { correlationId } = event.metadata;
        const run = async (): Promise<unknown> =>
          causedBy({ correlationId, causationId: event.id }, () =>
            watched(
              () => `subscription '${name}'`,
              () => handler(event, context),
            ),
          );
        await (this.monitor === null ? run() : this.monitor.event(name, event, run));
        done++;
      }
    } catch (error) {
      if (done > 0) await advance(events[done - 1]!.position);
      if (done > 0)
        this.logger.error("the handler of an event failed and is tried again", { subscription: name, error });
      if (done > 0) return events[done - 1]!.position;
      throw error;
    }
    const position = done === events.length ? upTo : (events[done - 1]?.position ?? 0);
    if (done === 0 && events.length > 0) throw new ClaimLost();
    await advance(position);
    return position;
  }

  #keep(name: string, running: { close(): Promise<void> }): EventSubscription {
    if (this.#running.has(name)) {
      void running.close();
      throw new ValueError(`this process has a subscription ${show(name)} already`);
    }
    this.#running.set(name, running);
    const close = async (): Promise<void> => {
      this.#running.delete(name);
      await running.close();
    };
    return { close, [Symbol.asyncDispose]: close };
  }
}

function nameOf({ settings: { name } }: SubscriptionRunner): string {
  return name.startsWith("projection:") ? name.replace(":", " ") : `subscription '${name}'`;
}
