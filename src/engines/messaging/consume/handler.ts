import type { Container } from "../../../di/container.js";
import { HttpError } from "../../../errors/http-error.js";
import type { Host } from "../../../feature/host.js";
import { type Guard, type GuardFunction, guardName, toCheck } from "../../../guards/guard.js";
import type { Request } from "../../../http/request.js";
import { ValueError } from "../../../kit/value-error.js";
import type { Injected } from "../../../pipeline/endpoint.js";
import type { Message } from "../message.js";
import type { MessageTransaction } from "../transaction.js";
import { requestOf } from "./message-request.js";
import type { ConsumerSettings } from "./options.js";

export type AnyMessageHandler = (message: never, injected: Injected) => unknown;
type SingleHandler = (message: Message, injected: Injected) => unknown;
type BatchHandler = (messages: readonly Message[], injected: Injected) => unknown;

/** Runs everything that belongs to a handler; rejects if one part of it fails. */
export type HandlerRun = (message: Message) => unknown;

/** The application of a handler: its guards and dependencies need one. */
export interface HandlerHome {
  readonly host: Host;
  readonly container: Container;
}

const nothing: Injected = Object.freeze({});

/** Folds guards, injection and handler into one function, once. A handler without the first two costs nothing more. */
export function handlerRun(
  given: AnyMessageHandler,
  { guards, inject }: Pick<ConsumerSettings, "guards" | "inject">,
  owner: string,
  home: HandlerHome | null,
): HandlerRun {
  const handler = checkHandler(given, owner) as SingleHandler;
  if (guards.length === 0 && inject === null) return (message) => handler(message, nothing);
  if (home === null) throw needsHome(owner);
  const checks = checksOf(guards);
  const step = inject === null ? null : home.container.step(inject, owner);
  return async (message) => {
    const request = requestOf(message, home.host);
    try {
      for (const [guard, check] of checks) await pass(guard, check, request);
      const injected: Injected = {};
      await step?.(request, injected);
      return await handler(message, injected);
    } finally {
      // Disposes scoped values.
      request.finish();
    }
  };
}

/** Runs a handler with several messages. */
export interface BatchRun {
  /** Rejects for a message that a guard refuses; null without guards. */
  readonly admit: ((message: Message) => Promise<void>) | null;
  /** True if the result of the handler is the reply to its message. */
  readonly replies: boolean;
  run(messages: readonly Message[], transaction: MessageTransaction | null): unknown;
}

/**
 * The handler of batches, or of single messages in a transaction. Guards look at each message. Dependencies are made once for
 * the batch, with its first message as the request.
 */
export function batchRun(
  given: AnyMessageHandler,
  { guards, inject, batch }: Pick<ConsumerSettings, "guards" | "inject" | "batch">,
  owner: string,
  home: HandlerHome | null,
): BatchRun {
  const handler = checkHandler(given, owner);
  const call = (messages: readonly Message[], injected: Injected): unknown =>
    batch === null ? (handler as SingleHandler)(messages[0]!, injected) : (handler as BatchHandler)(messages, injected);
  const extra = (tx: MessageTransaction | null): Injected => (tx === null ? {} : { tx });
  const replies = batch === null;
  if (guards.length === 0 && inject === null) {
    return { admit: null, replies, run: async (messages, tx) => call(messages, extra(tx)) };
  }
  if (home === null) throw needsHome(owner);
  const checks = checksOf(guards);
  const step = inject === null ? null : home.container.step(inject, owner);
  const within = async (message: Message, use: (request: Request) => Promise<unknown>): Promise<unknown> => {
    const request = requestOf(message, home.host);
    try {
      return await use(request);
    } finally {
      request.finish();
    }
  };
  return {
    replies,
    async admit(message) {
      if (checks.length === 0) return;
      await within(message, async (request) => {
        for (const [guard, check] of checks) await pass(guard, check, request);
      });
    },
    run: (messages, tx) =>
      within(messages[0]!, async (request) => {
        const injected = extra(tx);
        await step?.(request, injected);
        return call(messages, injected);
      }),
  };
}

function checkHandler(handler: AnyMessageHandler, owner: string): AnyMessageHandler {
  if (typeof handler === "function") return handler;
  throw new ValueError(`${owner} needs a handler: a function of the message`);
}

function checksOf(guards: readonly Guard[]): (readonly [Guard, GuardFunction])[] {
  return guards.map((guard) => [guard, toCheck(guard)] as const);
}

function needsHome(owner: string): ValueError {
  return new ValueError(`${owner} has guards or dependencies, which need an application`);
}

/** A guard has refused the message. Another attempt would not change that. */
export class RefusedError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
  }
}

/** Any other error of a guard is an attempt that failed: the handler does not run. */
async function pass(guard: Guard, check: GuardFunction, request: Request): Promise<void> {
  let result: boolean | string;
  try {
    result = await check(request);
  } catch (error) {
    if (error instanceof HttpError && error.status < 500) throw new RefusedError(error.message, error);
    throw error;
  }
  if (result === true) return;
  throw new RefusedError(typeof result === "string" ? result : `refused by the guard '${guardName(guard)}'`);
}
