import { setTimeout as delay } from "node:timers/promises";
import { DatabaseError } from "../../engines/db/errors.js";
import { ValueError } from "../../internal/value-error.js";
import { toIssues, ValidationError } from "../../validation/issues.js";
import type { StandardSchema } from "../../validation/standard-schema.js";
import { withJournal } from "../events/cause.js";
import { ConcurrencyError } from "../events/errors.js";
import { attempt } from "../storage/attempt.js";
import type { BusMiddleware, BusServices, CommandResult, ExecuteOptions, QueryResult } from "./bus-options.js";
import type { IdempotencyKeys } from "./idempotency.js";
import { CommandTimeout, type Message } from "./message.js";

type Kind = "command" | "query";

/** Failures of two writers at once: the same again succeeds. */
const transient: ReadonlySet<string | null> = new Set(["40001", "40P01"]);

/** One run of a command or a query: checked, in its time, again after a conflict. */
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
    message: Message<Kind, unknown, unknown>,
    given: unknown,
    { signal, idempotencyKey: key }: ExecuteOptions,
  ): Promise<CommandResult<unknown> | QueryResult<unknown>> {
    const input = await checked(message, given);
    const timeout = message.timeoutMs ?? this.#services.config.commandTimeoutMs;
    const keys = key === undefined ? null : this.#idempotencyKeys();
    const taken = keys === null ? null : await keys.take(message.name, key!, input, timeout + 5000);
    if (taken?.known) return { value: taken.result, repeated: true, synced: true };
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
    if (this.#kind === "query") return { value };
    return { value, repeated: false, synced: await this.#sync(message, journal.position, signal) };
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

  #idempotencyKeys(): IdempotencyKeys {
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
