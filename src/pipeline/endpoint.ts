import type { Request } from "../http/request.js";
import type { Response } from "../http/response.js";
import { toResponseSymbol } from "../http/to-response.js";
import { asPromise, isPromise } from "../kit/is-promise.js";
import { answer, type OnError, type Run } from "./compile.js";

/** The second argument of a handler: validated input and dependencies by name. */
export type Injected = Record<string, unknown>;

/** Fills one part of the injected values, before the handler runs. */
export type Step = (request: Request, injected: Injected) => void | Promise<void>;

export type AnyHandler = (request: Request, injected: Injected) => unknown;

/**
 * The second argument of a handler without one. Reading a method of a response from it is a habit from elsewhere, and
 * gets an explanation.
 */
const nothing: Injected = Object.freeze(Object.create(notAResponse()));

function notAResponse(): object {
  const explain = (): never => {
    throw new TypeError(
      "a handler is called with (request, injected), not with (req, res): return a value or a Response in place of sending it",
    );
  };
  const members =
    "send json status end write writeHead redirect render setHeader type code header sendStatus sendFile set".split(
      " ",
    );
  return Object.defineProperties({}, Object.fromEntries(members.map((name) => [name, { get: explain }])));
}

/**
 * The innermost part of the pipeline: runs the steps in order, then the handler, and makes a response from its result.
 */
export function endpoint(handler: AnyHandler, steps: readonly Step[], status: number, onError: OnError): Run {
  const later = (request: Request, result: Promise<unknown>): Promise<Response> =>
    asPromise(result).then(
      (value) => answer(request, value, status, onError, "async"),
      (error: unknown) => onError(request, error, "async"),
    );
  const call = (request: Request, injected: Injected): Response | Promise<Response> => {
    let result: unknown;
    try {
      result = handler(request, injected);
    } catch (error) {
      return onError(request, error, "sync");
    }
    return isPromise(result) && !(toResponseSymbol in result)
      ? later(request, result)
      : answer(request, result, status, onError);
  };
  if (steps.length === 0) return (request) => call(request, nothing);
  return (request) => {
    const injected: Injected = {};
    let waiting: Promise<void> | undefined;
    try {
      waiting = runSteps(steps, 0, request, injected);
    } catch (error) {
      return onError(request, error, "sync");
    }
    if (waiting === undefined) return call(request, injected);
    return waiting.then(
      () => call(request, injected),
      (error: unknown) => onError(request, error, "async"),
    );
  };
}

function runSteps(
  steps: readonly Step[],
  from: number,
  request: Request,
  injected: Injected,
): Promise<void> | undefined {
  for (let i = from; i < steps.length; i++) {
    const waiting = steps[i]!(request, injected);
    if (waiting instanceof Promise) {
      return waiting.then(() => runSteps(steps, i + 1, request, injected));
    }
  }
  return undefined;
}
