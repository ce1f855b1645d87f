import { ValueError } from "../../internal/value-error.js";
import { toIssues, ValidationError } from "../../validation/issues.js";
import type { StandardSchema } from "../../validation/standard-schema.js";
import { withJournal } from "../events/cause.js";
import type { BusMiddleware, BusServices, CommandResult, ExecuteOptions, QueryResult } from "./bus-options.js";
import type { IdempotencyKeys } from "./idempotency.js";
import { CommandTimeout, type Message, type MessageHandler } from "./message.js";
import { Run } from "./run.js";

type Kind = "command" | "query";
type AnyMessage = Message<Kind, never, unknown>;
type Result = CommandResult<unknown> | QueryResult<unknown>;

/** Runs the messages of one bus: checked, in their time, again after a conflict. */
export class Execution {
  readonly #kind: Kind;
  readonly #services: BusServices;
  readonly #middleware: readonly BusMiddleware[];

  constructor(kind: Kind, services: BusServices, middleware: readonly BusMiddleware[]) {
    this.#kind = kind;
    this.#services = services;
    this.#middleware = middleware;
  }

  async execute(
    message: AnyMessage,
    handler: MessageHandler,
    given: unknown,
    { signal, idempotencyKey }: ExecuteOptions,
    isChecked: boolean,
  ): Promise<Result> {
    const { schema } = message;
    const input = isChecked || schema === undefined ? given : await checked(schema as StandardSchema, given);
    if (idempotencyKey !== undefined) return this.#once(message, handler, input, signal, idempotencyKey);
    if (this.#kind === "query") return { value: await this.#run(message, handler, input, signal) };
    if (!this.#services.config.enableEventSync) {
      return { value: await this.#run(message, handler, input, signal), repeated: false, synced: true };
    }
    const journal = { position: 0 };
    const value = await withJournal(journal, () => this.#run(message, handler, input, signal));
    return { value, repeated: false, synced: await this.#sync(message, journal.position, signal) };
  }

  /** Runs a command whose effect must not be doubled by a second call with the same key. */
  async #once(
    message: AnyMessage,
    handler: MessageHandler,
    input: unknown,
    signal: AbortSignal | undefined,
    key: string,
  ): Promise<Result> {
    const keys = this.#idempotencyKeys();
    const taken = await keys.take(message.name, key, input, this.#timeoutOf(message) + 5000);
    if (taken.known) return { value: taken.result, repeated: true, synced: true };
    const journal = { position: 0 };
    let value: unknown;
    try {
      value = await withJournal(journal, () => this.#run(message, handler, input, signal));
      await keys.finish(message.name, key, taken.token, value);
    } catch (error) {
      // After a timeout the command may still have its effect: its key stays taken until the lease ends.
      if (!(error instanceof CommandTimeout)) await keys.free(message.name, key, taken.token).catch(() => {});
      throw error;
    }
    return { value, repeated: false, synced: await this.#sync(message, journal.position, signal) };
  }

  #run(
    message: AnyMessage,
    handler: MessageHandler,
    input: unknown,
    signal: AbortSignal | undefined,
  ): Promise<unknown> | unknown {
    const { config, monitor } = this.#services;
    const settings = {
      kind: this.#kind,
      name: message.name,
      handler,
      timeout: this.#timeoutOf(message),
      retries: message.retries ?? (this.#kind === "command" ? config.retries : 0),
      middleware: this.#middleware,
      signal,
    };
    const run = new Run(settings, input);
    return monitor === null ? run.start() : monitor.measure(run, () => run.start());
  }

  #timeoutOf(message: AnyMessage): number {
    return message.timeoutMs ?? this.#services.config.commandTimeoutMs;
  }

  async #sync(message: AnyMessage, position: number, signal: AbortSignal | undefined): Promise<boolean> {
    const { config, eventStore } = this.#services;
    const store = config.enableEventSync && position > 0 ? eventStore() : null;
    if (store === null) return true;
    const affected = message.affects ?? store.projections;
    const options = { timeoutMs: config.eventSyncTimeoutMs, ...(signal && { signal }) };
    const all = await Promise.all(affected.map((projection) => store.waitFor(projection, position, options)));
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

async function checked(schema: StandardSchema, given: unknown): Promise<unknown> {
  const result = await schema["~standard"].validate(given);
  if (result.issues) throw new ValidationError(toIssues("input", result.issues, given));
  return result.value;
}
