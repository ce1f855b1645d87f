import { Deadlines } from "../../kit/time/deadlines.js";
import { milliseconds } from "../../kit/time/duration.js";
import { ValueError } from "../../kit/value-error.js";
import { validated } from "../../validation/issues.js";
import type { StandardSchema } from "../../validation/standard-schema.js";
import { type Journal, withJournal } from "../events/cause.js";
import type { BusMiddleware, BusServices, CommandResult, ExecuteOptions, QueryResult } from "./bus-options.js";
import type { IdempotencyKeys } from "./idempotency.js";
import { CommandTimeout, type Message, type MessageHandler } from "./message.js";
import { Run, type RunSettings } from "./run.js";

type Kind = "command" | "query";
type AnyMessage = Message<Kind, unknown, unknown>;
type Result = CommandResult<unknown> | QueryResult<unknown>;
type Settings = RunSettings & Pick<AnyMessage, "affects">;
type Signal = AbortSignal | undefined;

/** Runs the messages of one bus: checked, in their time, again after a conflict. */
export class Execution {
  readonly #kind: Kind;
  readonly #services: BusServices;
  readonly #middleware: readonly BusMiddleware[];
  readonly #settings = new WeakMap<AnyMessage, Settings>();

  constructor(kind: Kind, services: BusServices, middleware: readonly BusMiddleware[]) {
    this.#kind = kind;
    this.#services = services;
    this.#middleware = middleware;
  }

  execute(
    message: AnyMessage,
    handler: MessageHandler,
    given: unknown,
    options: ExecuteOptions,
    isChecked: boolean,
  ): Promise<Result> {
    const settings = this.#settingsOf(message, handler);
    const { schema } = message;
    if (isChecked || schema === undefined) return this.#checked(settings, given, options);
    return validated(schema as StandardSchema, given, "input").then((input) => this.#checked(settings, input, options));
  }

  #checked(settings: Settings, input: unknown, { signal, idempotencyKey }: ExecuteOptions): Promise<Result> {
    if (idempotencyKey !== undefined) return this.#once(settings, input, signal, idempotencyKey);
    if (this.#kind === "query") return this.#run(settings, input, signal, (value) => ({ value }));
    if (!this.#services.config.enableEventSync)
      return this.#run(settings, input, signal, (value) => ({ value, repeated: false, synced: true }));
    return this.#synced(settings, signal, () => this.#run(settings, input, signal, (value) => value));
  }

  async #synced(settings: Settings, signal: Signal, run: () => Promise<unknown>): Promise<CommandResult<unknown>> {
    const journal = { position: 0, unchanged: false };
    const value = await withJournal(journal, run);
    return { value, repeated: false, synced: await this.#sync(settings, journal, signal) };
  }

  /** Runs a command whose effect must not be doubled by a second call with the same key. */
  async #once(settings: Settings, input: unknown, signal: Signal, key: string): Promise<Result> {
    const { name, deadlines } = settings;
    const keys = this.#idempotencyKeys();
    signal?.throwIfAborted();
    const taken = await keys.take(name, key, input, deadlines.milliseconds + 5000);
    if (taken.known) {
      const synced = await this.#sync(settings, { position: 0, unchanged: true }, signal);
      return { value: taken.result, repeated: true, synced };
    }
    let hasEffect = false;
    // Also called for a result that comes after the time is over or the caller has left: a later call finds it.
    const keep = (value: unknown): Promise<unknown> => {
      hasEffect = true;
      const kept = keys.finish(name, key, taken.token, value).then(() => value);
      kept.catch(() => {});
      return kept;
    };
    return this.#synced(settings, signal, async () => {
      try {
        return await this.#run(settings, input, signal, keep);
      } catch (error) {
        // After a timeout, or if the caller has left, the handler still runs: its key stays taken until the lease ends.
        const mayHaveEffect = hasEffect || error instanceof CommandTimeout || signal?.aborted === true;
        if (!mayHaveEffect) await keys.free(name, key, taken.token).catch(() => {});
        throw error;
      }
    });
  }

  #run<T>(settings: Settings, input: unknown, signal: Signal, finish: (value: unknown) => T): Promise<T> {
    const { monitor } = this.#services;
    const run = new Run(settings, input, signal, finish);
    return monitor === null ? run.start() : monitor.measure(run, () => run.start());
  }

  #settingsOf(message: AnyMessage, handler: MessageHandler): Settings {
    const { config } = this.#services;
    let settings = this.#settings.get(message);
    if (settings === undefined) {
      settings = {
        kind: this.#kind,
        name: message.name,
        handler,
        deadlines: new Deadlines(message.timeoutMs ?? config.commandTimeoutMs),
        retries: message.retries ?? (this.#kind === "command" ? config.retries : 0),
        middleware: this.#middleware,
        affects: message.affects,
      };
      this.#settings.set(message, settings);
    }
    return settings;
  }

  async #sync({ affects }: Settings, { position, unchanged }: Journal, signal: Signal): Promise<boolean> {
    const { config, eventStore } = this.#services;
    if (!config.enableEventSync) return true;
    const store = eventStore();
    // Nothing can be waited for: the start has warned of it.
    if (store === null) return false;
    if (position === 0 && !unchanged) return true;
    const affected = affects ?? store.projections;
    // The events of an earlier call, whose response was lost, are somewhere before the last one.
    const upTo = position > 0 || affected.length === 0 ? position : await store.storage.highWaterMark();
    const options = { timeoutMs: milliseconds(config.eventSyncTimeout), ...(signal && { signal }) };
    const all = await Promise.all(affected.map((projection) => store.waitFor(projection, upTo, options)));
    return all.every((reached) => reached);
  }

  #idempotencyKeys(): IdempotencyKeys {
    if (this.#kind !== "command") throw new ValueError("option 'idempotencyKey' is for commands");
    const keys = this.#services.keys();
    if (keys === null)
      throw new Error("idempotency keys need app.enableDatabase() and an application that has started");
    return keys;
  }
}
