import type { Container } from "../../../di/container.js";
import { HttpError } from "../../../errors/http-error.js";
import type { Host } from "../../../feature/host.js";
import { type Guard, type GuardFunction, guardName, toCheck } from "../../../guards/guard.js";
import type { Request } from "../../../http/request.js";
import { ValueError } from "../../../internal/value-error.js";
import type { Injected } from "../../../pipeline/endpoint.js";
import type { Message } from "../message.js";
import { requestOf } from "./message-request.js";
import type { ConsumerSettings } from "./options.js";

export type AnyMessageHandler = (message: Message, injected: Injected) => unknown;

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
  handler: AnyMessageHandler,
  { guards, inject }: Pick<ConsumerSettings, "guards" | "inject">,
  owner: string,
  home: HandlerHome | null,
): HandlerRun {
  if (typeof handler !== "function") throw new ValueError(`${owner} needs a handler: a function of the message`);
  if (guards.length === 0 && inject === null) return (message) => handler(message, nothing);
  if (home === null) throw new ValueError(`${owner} has guards or dependencies, which need an application`);
  const checks = guards.map((guard) => [guard, toCheck(guard)] as const);
  const step = inject === null ? null : home.container.step(inject, owner);
  return async (message) => {
    const request = requestOf(message, home.host);
    try {
      for (const [guard, check] of checks) await pass(guard, check, request);
      const injected: Injected = {};
      await step?.(request, injected);
      await handler(message, injected);
    } finally {
      // Disposes scoped values.
      request.finish();
    }
  };
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
