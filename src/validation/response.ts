import { Response } from "../http/response.js";
import { toResponseSymbol } from "../http/to-response.js";
import { show } from "../internal/options.js";
import { ValueError } from "../internal/value-error.js";
import { isPromise } from "../pipeline/compile.js";
import type { AnyHandler } from "../pipeline/endpoint.js";
import { isDescribed } from "./body-validator.js";
import { toIssues } from "./issues.js";
import { ResponseValidationError } from "./response-error.js";
import { isStandardSchema, type SchemaResult } from "./standard-schema.js";

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
