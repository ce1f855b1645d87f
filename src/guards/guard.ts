import { isInstance } from "../errors/describe.js";
import { ForbiddenError, HttpError } from "../errors/http-error.js";
import type { Request } from "../http/request.js";
import { asPromise, isPromise } from "../kit/is-promise.js";
import { show } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";
import type { Middleware } from "../pipeline/middleware.js";

/**
 * `true` lets the request pass. `false` rejects it with 403, and so does a string, which is the message. A guard that
 * returns nothing is a mistake: 500 that names the guard in debug mode, else 403.
 */
export type GuardResult = boolean | string;

/** A guard that is a function. */
export type GuardFunction = (request: Request) => GuardResult | Promise<GuardResult>;

/** A guard that is an object. */
export interface GuardObject {
  /** The name in lists and messages. Default: the name of its class. */
  readonly name?: string;
  /** True if the guard reads only the head of the request and the context. It can then run before the body is read. */
  readonly early?: boolean;
  check(request: Request): GuardResult | Promise<GuardResult>;
}

/** A check that lets a request pass or rejects it. */
export type Guard = GuardFunction | GuardObject;

/** Guards as one stage of the pipeline: the request passes if all of them let it pass, in the order given. */
export function guardStage(guards: readonly Guard[]): Middleware {
  const checks = guards.map(toCheck);
  return {
    name: "guards",
    slot: "guards",
    early: guards.every((guard) => typeof guard === "object" && guard.early === true),
    before: checks.length === 1 ? single(checks[0]!) : (request) => runFrom(checks, 0, request),
  };
}

/** The check of a guard. It throws if the guard returns no verdict, which must not open the route. */
export function toCheck(guard: Guard): GuardFunction {
  const name = guardName(guard);
  const returned = (result: unknown): GuardResult => {
    if (typeof result === "boolean" || typeof result === "string") return result;
    if (!result && result !== undefined) return false;
    throw new GuardMistake(name, result);
  };
  return (request) => {
    const result = typeof guard === "function" ? guard(request) : guard.check(request);
    return isPromise(result) ? asPromise(result).then((value) => returned(value)) : returned(result);
  };
}

/** A guard that returned something else than a verdict. */
class GuardMistake extends ValueError {
  constructor(name: string, result: unknown) {
    super(
      isGuard(result)
        ? `'${guardName(result)}' makes a guard and is not one itself: write ${guardName(result)}() in the list of guards`
        : `the guard '${name}' returned ${result === undefined ? "nothing" : show(result)}: ` +
            "return true to let the request pass, or false or a message to reject it",
    );
  }
}

export function isGuard(value: unknown): value is Guard {
  return typeof value === "function" || typeof (value as GuardObject | null)?.check === "function";
}

/** The name of a guard in lists and messages. */
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
  if (result === true) return;
  throw typeof result === "string" ? new ForbiddenError(result) : new ForbiddenError();
}

/**
 * The error of a request whose guard threw. Errors that are no response of the guard's own are logged and become 403; a
 * guard that returns nothing is shown to its developer in debug mode.
 */
function refusal(request: Request, error: unknown): unknown {
  if (isInstance(error, HttpError)) return error;
  if (isInstance(error, GuardMistake) && request.host?.debug === true) return error;
  request.host?.logger.error(`a guard of ${request.method} ${request.path} failed`, { error });
  return new ForbiddenError(undefined, { cause: error });
}
