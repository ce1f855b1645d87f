import { setTimeout as delay } from "node:timers/promises";
import { DatabaseError } from "../../engines/db/errors.js";
import type { Request } from "../../http/request.js";
import { show } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { toIssues, ValidationError } from "../../validation/issues.js";
import type { SchemaOutput, StandardSchema } from "../../validation/standard-schema.js";
import { withJournal } from "../events/cause.js";
import { ConcurrencyError } from "../events/errors.js";
import type { EventStore } from "../events/event-store.js";
import { attempt } from "../storage/attempt.js";
import type { CqrsConfig } from "./config.js";
import type { IdempotencyKeys } from "./idempotency.js";
import { CommandTimeout, type Message } from "./message.js";

export interface ExecuteOptions {
  readonly signal?: AbortSignal | undefined;
  /** A command with the same key and input has its effect once, and its first result is returned again. */
  readonly idempotencyKey?: string | undefined;
}

/** The outcome of a query. */
export interface QueryResult<Value> {
  readonly value: Value;
}

/** The outcome of a command. */
export interface CommandResult<Value> extends QueryResult<Value> {
  /** True if it is the result of an earlier call with the same idempotency key. */
  readonly repeated: boolean;
  /** False if `enableEventSync` is on and a projection had not processed the events of the command in time. */
  readonly synced: boolean;
}

export interface BusContext {
  readonly kind: "command" | "query";
  readonly name: string;
  readonly input: unknown;
  readonly signal: AbortSignal;
}

/** Code around every command or query: it calls `next`, and returns its result or another one. */
export type BusMiddleware = (context: BusContext, next: () => Promise<unknown>) => unknown;

/** The options and the handler of a route. */
export type MessageRoute<Schema, Result> = Schema extends StandardSchema
  ? [
      options: { readonly body: Schema },
      handler: (request: Request, given: { readonly body: SchemaOutput<Schema> }) => Promise<Result>,
    ]
  : [options: object, handler: (request: Request) => Promise<Result>];

/** The services that a bus uses; null where the application has them not. */
export interface BusServices {
  readonly config: CqrsConfig;
  keys(): IdempotencyKeys | null;
  eventStore(): EventStore | null;
}

/** Failures of two writers at once: the same again succeeds. */
const transient: ReadonlySet<string | null> = new Set(["40001", "40P01"]);

/** Runs the handlers of messages of one kind: checked, in their time, again after a conflict. */
export class Bus<Kind extends "command" | "query"> {
  readonly #kind: Kind;
  readonly #services: BusServices;
  readonly #middleware: BusMiddleware[] = [];

  /** @internal */
  constructor(kind: Kind, services: BusServices) {
    this.#kind = kind;
    this.#services = services;
  }

  /** Adds middleware; the first one is the outermost. */
  use(middleware: BusMiddleware): this {
    if (typeof middleware !== "function") throw new ValueError(`use() takes a function, not ${show(middleware)}`);
    this.#middleware.push(middleware);
    return this;
  }

  /** Runs a command or a query. */
  async execute<Given, Result>(
    message: Message<Kind, Given, Result>,
    given: Given,
    { signal, idempotencyKey: key }: ExecuteOptions = {},
  ): Promise<Kind extends "command" ? CommandResult<Result> : QueryResult<Result>> {
    if (message?.kind !== this.#kind) throw new ValueError(`this bus runs a message made by ${this.#kind}()`);
    const input = await checked(message, given);
    const timeout = message.timeoutMs ?? this.#services.config.commandTimeoutMs;
    const keys = key === undefined ? null : this.#keys();
    const taken = keys === null ? null : await keys.take(message.name, key!, input, timeout + 5000);
    if (taken?.known) return { value: taken.result, repeated: true, synced: true } as never;
    const journal = { position: 0 };
    let value: unknown;
    try {
      value = await withJournal(journal, () => this.#run(message, input, timeout, signal));
      if (keys !== null && taken !== null) await keys.finish(message.name, key!, taken.token, value);
    } catch (error) {
      // After a timeout the command may still have its effect: its key stays taken until the lease ends.
      if (keys !== null && taken !== null && !(error instanceof CommandTimeout)) {
        await keys.free(message.name, key!, taken.token).catch(() => {});
      }
      throw error;
    }
    if (this.#kind === "query") return { value } as never;
    return { value, repeated: false, synced: await this.#sync(message, journal.position, signal) } as never;
  }

  /**
   * The options and the handler of a route: `app.post("/orders", ...app.commands.route(placeOrder))`. The body is the input,
   * the header `Idempotency-Key` the key of a command, and the value the response.
   */
  route<Given, Result, Schema>(message: Message<Kind, Given, Result, Schema>): MessageRoute<Schema, Result> {
    const handler = async (request: Request, injected?: { readonly body?: unknown }): Promise<unknown> => {
      const idempotencyKey =
        this.#kind === "command" ? (request.headers.get("idempotency-key") ?? undefined) : undefined;
      const given = (message.schema === undefined ? undefined : injected?.body) as Given;
      const { value } = await this.execute(message, given, { signal: request.signal, idempotencyKey });
      return value;
    };
    return [message.schema === undefined ? {} : { body: message.schema }, handler] as never;
  }

  async #run(
    message: Message<Kind, unknown, unknown>,
    input: unknown,
    timeout: number,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const retries = message.retries ?? (this.#kind === "command" ? this.#services.config.retries : 0);
    const never = new AbortController().signal;
    const outcome = await attempt(
      async (timed) => {
        const whole = signal === undefined ? timed : AbortSignal.any([timed, signal]);
        const context = { kind: this.#kind, name: message.name, input, signal: whole };
        const handle = async (): Promise<unknown> => {
          for (let number = 1; ; number++) {
            try {
              return await message.handler(input as never, { name: message.name, signal: whole, attempt: number });
            } catch (error) {
              if (number > retries || whole.aborted || !isTransient(error)) throw error;
            }
            await delay(Math.random() * Math.min(5 * 2 ** number, 100));
          }
        };
        return this.#middleware.reduceRight<() => Promise<unknown>>(
          (next, middleware) => async () => middleware(context, next),
          handle,
        )();
      },
      timeout,
      { lost: never, cancelled: signal },
    );
    if (outcome.kind === "done") return outcome.result;
    if (outcome.kind === "failed") throw outcome.error;
    if (signal?.aborted) throw signal.reason;
    throw new CommandTimeout(message.name, timeout);
  }

  async #sync(
    message: Message<Kind, unknown, unknown>,
    position: number,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const { config, eventStore } = this.#services;
    const store = config.enableEventSync && position > 0 ? eventStore() : null;
    if (store === null) return true;
    const affected = message.affects ?? store.projections;
    const options = { timeoutMs: config.eventSyncTimeoutMs, ...(signal && { signal }) };
    const all = await Promise.all(affected.map((projection) => store.waitFor(projection, position, options)));
    return all.every((reached) => reached);
  }

  #keys(): IdempotencyKeys {
    if (this.#kind !== "command") throw new ValueError("option 'idempotencyKey' is for commands");
    const keys = this.#services.keys();
    if (keys === null)
      throw new Error("idempotency keys need app.enableDatabase() and an application that has started");
    return keys;
  }
}

async function checked({ schema }: Message<"command" | "query", unknown, unknown>, given: unknown): Promise<unknown> {
  if (schema === undefined) return given;
  const result = await (schema as StandardSchema)["~standard"].validate(given);
  if (result.issues) throw new ValidationError(toIssues("input", result.issues, given));
  return result.value;
}

function isTransient(error: unknown): boolean {
  return error instanceof ConcurrencyError || (error instanceof DatabaseError && transient.has(error.sqlstate));
}
