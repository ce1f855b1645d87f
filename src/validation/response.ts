import { ValueError } from "../errors/value-error.js";
import { Response } from "../http/response.js";
import { toResponseSymbol } from "../http/to-response.js";
import { show } from "../internal/options.js";
import { isPromise } from "../pipeline/compile.js";
import type { AnyHandler } from "../pipeline/endpoint.js";
import { isDescribed } from "./body-validator.js";
import { type Issue, toIssues } from "./issues.js";
import { isStandardSchema, type SchemaResult } from "./standard-schema.js";

/** Issues that a message names; the error has them all. */
const maxNamed = 20;

/** What a handler returned breaks the schema of its response: a mistake in the application, not in the request. */
export class ResponseValidationError extends Error {
  readonly issues: readonly Issue[];

  constructor(owner: string, issues: readonly Issue[]) {
    const list = issues.slice(0, maxNamed).map(({ loc, msg, type }) => `${loc.join(".")}: ${msg} (${type})`);
    if (issues.length > maxNamed) list.push(`and ${issues.length - maxNamed} more`);
    super(`the response of ${owner} breaks its schema: ${list.join("; ")}`);
    this.name = new.target.name;
    this.issues = issues;
  }
}

/**
 * The handler of a route with a `response` schema: it returns what the schema makes of the result. A result that breaks
 * the schema is an error, unless there is a `report` to make: then the result is sent as it is.
 */
export function respondingTo(
  handler: AnyHandler,
  schema: unknown,
  owner: string,
  report: ((error: ResponseValidationError) => void) | null,
): AnyHandler {
  if (!isStandardSchema(schema)) {
    if (isDescribed(schema)) return handler;
    throw new ValueError(`'response' of ${owner} must be a schema (zod, valibot, arktype ...), not ${show(schema)}`);
  }
  const standard = schema["~standard"];
  const settle = (result: SchemaResult<unknown>, value: unknown): unknown => {
    if (!result.issues) return result.value;
    const error = new ResponseValidationError(owner, toIssues("response", result.issues, value));
    if (!report) throw error;
    report(error);
    return value;
  };
  const check = (value: unknown): unknown => {
    if (isFinished(value)) return value;
    const result = standard.validate(value);
    return result instanceof Promise ? result.then((settled) => settle(settled, value)) : settle(result, value);
  };
  return (request, injected) => {
    const value = handler(request, injected);
    return isPromise(value) && !(toResponseSymbol in value) ? value.then(check) : check(value);
  };
}

/** What says itself how it is sent: a response, bytes, a stream, a model; and an error, which is thrown. */
function isFinished(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return (
    value instanceof Response ||
    toResponseSymbol in value ||
    value instanceof globalThis.Response ||
    value instanceof Uint8Array ||
    value instanceof ArrayBuffer ||
    value instanceof Blob ||
    value instanceof Error ||
    Symbol.asyncIterator in value
  );
}
