import { type Check, show } from "../../kit/options.js";
import type { SupervisorLink } from "../../server/worker-messages/link.js";
import { ExchangeError } from "../../server/worker-messages/messages.js";
import type { HubService, HubWorker } from "../../server/worker-messages/service.js";

/** The calls of a state in the supervisor. The first parameter is the worker that calls. */
type Calls = { readonly [name: string]: (worker: HubWorker, ...args: never[]) => unknown };

type ArgumentsOf<Call> = Call extends (worker: HubWorker, ...args: infer Args) => unknown ? Args : never;
type ResultOf<Call> = Call extends (...args: never[]) => infer Result ? Awaited<Result> : never;

declare const types: unique symbol;

/** A state in the supervisor that workers use by calls: a message is the name of the call and its arguments. */
export interface CallService<C> extends HubService {
  /** For the compiler alone. */
  readonly [types]?: C;
}

/** `leave` is called for a worker that has ended or missed messages, if the state knows its workers. */
export function callService<C extends Calls>(calls: C, leave?: (worker: HubWorker) => void): CallService<C> {
  return {
    hear(worker, message: unknown) {
      const [name, ...args]: unknown[] = Array.isArray(message) ? message : [];
      if (typeof name !== "string" || !Object.hasOwn(calls, name)) throw new Error(`there is no call ${show(name)}`);
      return calls[name]!(worker, ...(args as never[]));
    },
    ...(leave && { leave, lost: leave }),
  };
}

/** A call with the checks of its arguments: nothing of a message that cannot be read is stored. */
export function call<T extends readonly unknown[], R>(
  checks: readonly [...{ readonly [I in keyof T]: Check<T[I]> }],
  run: (worker: HubWorker, ...args: T) => R,
): (worker: HubWorker, ...args: T) => R {
  return (worker, ...args) => {
    for (let i = 0; i < checks.length; i++) checkPart("an argument", args[i], checks[i] as Check);
    return run(worker, ...args);
  };
}

export function checkPart(name: string, value: unknown, check: Check): void {
  const allowed = check(value);
  if (allowed !== undefined) throw new ExchangeError(`the message cannot be read: ${name} must be ${allowed}`);
}

/** An object with these properties; others are not looked at. */
export function objectWith<T extends object>(checks: { readonly [K in keyof T]-?: Check<T[K]> }): Check<T> {
  const all = Object.entries<Check>(checks);
  const isFine = (value: object): boolean =>
    all.every(([name, check]) => check((value as Record<string, unknown>)[name]) === undefined);
  return (value) =>
    typeof value === "object" && value !== null && isFine(value) ? undefined : `an object with ${Object.keys(checks)}`;
}

/** The calls of a worker to a state in the supervisor. */
export class Caller<Service extends CallService<unknown>, C = NonNullable<Service[typeof types]>> {
  constructor(
    private readonly link: SupervisorLink,
    private readonly service: string,
  ) {}

  /** `weight` is the size of the message, if it can be large. */
  async ask<K extends keyof C>(name: K, args: ArgumentsOf<C[K]>, weight?: number): Promise<ResultOf<C[K]>> {
    return (await this.link.ask(this.service, [name, ...args], weight)) as ResultOf<C[K]>;
  }

  /** Calls back before the next message of the supervisor is handled, which a promise would not. */
  request<K extends keyof C>(
    name: K,
    args: ArgumentsOf<C[K]>,
    settle: (error: Error | null, result: ResultOf<C[K]>) => void,
  ): void {
    this.link.request(this.service, [name, ...args], settle as (error: Error | null, result: unknown) => void);
  }

  tell<K extends keyof C>(name: K, ...args: ArgumentsOf<C[K]>): void {
    this.link.tell(this.service, [name, ...args]);
  }
}
