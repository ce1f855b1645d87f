import { ForbiddenError, HttpError } from "../errors/http-error.js";
import type { Request } from "../http/request.js";
import { isPromise } from "../pipeline/compile.js";
import type { Middleware } from "../pipeline/middleware.js";

/** true or nothing lets the request through; false refuses it with 403, a string too, as the message. */
export type GuardResult = boolean | string | undefined | void;

export type GuardFunction = (request: Request) => GuardResult | Promise<GuardResult>;

export interface GuardObject {
  /** What it is called where guards are listed. Default: the name of its class. */
  readonly name?: string;
  /** Looks at no more than the head and the context, so it may run before the body is read. */
  readonly early?: boolean;
  check(request: Request): GuardResult | Promise<GuardResult>;
}

/** Decides whether a request may pass. */
export type Guard = GuardFunction | GuardObject;

/** Guards as one stage of the pipeline: all must let the request through, in the order given. */
export function guardStage(guards: readonly Guard[]): Middleware {
  const checks = guards.map(toCheck);
  return {
    name: "guards",
    slot: "guards",
    early: guards.every((guard) => typeof guard === "object" && guard.early === true),
    before: checks.length === 1 ? single(checks[0]!) : (request) => runFrom(checks, 0, request),
  };
}

export function toCheck(guard: Guard): GuardFunction {
  return typeof guard === "function" ? guard : (request) => guard.check(request);
}

export function isGuard(value: unknown): value is Guard {
  return typeof value === "function" || typeof (value as GuardObject | null)?.check === "function";
}

/** What a guard is called where guards are listed. */
export function guardName(guard: Guard): string {
  return (
    guard.name || (typeof guard === "object" && guard.constructor !== Object ? guard.constructor.name : "") || "guard"
  );
}

function single(check: GuardFunction): (request: Request) => void | Promise<void> {
  return (request) => runOne(check, request);
}

function runFrom(checks: readonly GuardFunction[], from: number, request: Request): void | Promise<void> {
  for (let i = from; i < checks.length; i++) {
    const waiting = runOne(checks[i]!, request);
    if (waiting) return waiting.then(() => runFrom(checks, i + 1, request));
  }
}

function runOne(check: GuardFunction, request: Request): void | Promise<void> {
  let result: ReturnType<GuardFunction>;
  try {
    result = check(request);
  } catch (error) {
    throw refusal(request, error);
  }
  if (!isPromise(result)) return judge(result);
  return result.then(
    (value) => judge(value as GuardResult),
    (error: unknown) => {
      throw refusal(request, error);
    },
  );
}

function judge(result: GuardResult): void {
  if (result === undefined || result === true) return;
  throw typeof result === "string" ? new ForbiddenError(result) : new ForbiddenError();
}

/** A guard that breaks does not let anything through: what is not an answer of its own becomes 403, and is logged. */
function refusal(request: Request, error: unknown): unknown {
  if (error instanceof HttpError) return error;
  request.host?.logger.error(`a guard of ${request.method} ${request.path} failed`, { error });
  return new ForbiddenError(undefined, { cause: error });
}
