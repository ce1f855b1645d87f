import { findPromises, settleAll } from "../http/json/json-values.js";
import { toJson } from "../http/json/to-json.js";
import { Response } from "../http/response.js";
import { toResponseSymbol } from "../http/to-response.js";
import { asPromise, isPromise } from "../kit/is-promise.js";
import { show } from "../kit/options.js";
import { ValueError } from "../kit/value-error.js";
import type { AnyHandler } from "../pipeline/endpoint.js";
import { isDescribed, jsonSchemaSymbol } from "./body-validator.js";
import { declaredOnly } from "./declared-only.js";
import { toIssues } from "./issues.js";
import { jsonSchemaOf } from "./json-schema.js";
import { ResponseValidationError } from "./response-error.js";
import { isStandardSchema, type SchemaResult, type StandardSchema } from "./standard-schema.js";

/**
 * The handler of a route with a `response` schema. It returns the output of the schema without undeclared properties. A
 * result that does not fit is an error in every mode: it could contain data that the schema must keep back.
 */
export function respondingTo(handler: AnyHandler, schema: unknown, owner: string): AnyHandler {
  const check = settledFirst(isStandardSchema(schema) ? schemaCheck(schema, owner) : describedCheck(schema, owner));
  return (request, injected) => {
    const value = handler(request, injected);
    return isPromise(value) && !(toResponseSymbol in value) ? asPromise(value).then(check) : check(value);
  };
}

type ResultCheck = (value: unknown) => unknown;

/** A schema is for the values of the promises and querysets that a result may hold at any place. */
function settledFirst(check: ResultCheck): ResultCheck {
  return (value) => {
    if (isFinished(value)) return value;
    if (isAnswerable(value)) return check(value);
    const { root, pending } = findPromises(value);
    return pending.length === 0 ? check(value) : settleAll(pending).then(() => check(root.value));
  };
}

function schemaCheck(schema: StandardSchema, owner: string): ResultCheck {
  const standard = schema["~standard"];
  const prune = pruneOf(schema);
  const settle = (result: SchemaResult<unknown>, value: unknown): unknown => {
    if (!result.issues) return prune(result.value);
    throw new ResponseValidationError(owner, toIssues("response", result.issues, value));
  };
  const check = (value: unknown): unknown => {
    const result = standard.validate(value);
    return result instanceof Promise ? result.then((settled) => settle(settled, value)) : settle(result, value);
  };
  /** The schema may be written for the JSON of a model, or for its properties. */
  const checkModel = async (value: unknown): Promise<unknown> => {
    const rows = await value;
    const result = await standard.validate(JSON.parse(toJson(rows) ?? "null"));
    return result.issues ? check(rows) : prune(result.value);
  };
  return (value) => (isAnswerable(value) ? checkModel(value) : check(value));
}

/** Libraries that drop properties which a schema does not declare, unless it says otherwise. */
const stripping: ReadonlySet<string> = new Set(["zod", "valibot"]);

function pruneOf(schema: StandardSchema): (value: unknown) => unknown {
  const json = stripping.has(schema["~standard"].vendor) ? undefined : jsonSchemaOf(schema, "output");
  return json ? declaredOnly(json) : (value) => value;
}

/** A model determines the properties of a response. Its instances and querysets are written by the model itself. */
function describedCheck(schema: unknown, owner: string): ResultCheck {
  if (!isDescribed(schema)) {
    throw new ValueError(`'response' of ${owner} must be a schema (zod, valibot, arktype ...), not ${show(schema)}`);
  }
  const prune = declaredOnly(schema[jsonSchemaSymbol]("output").schema);
  return (value) => {
    if (isAnswerable(value)) return value;
    return Array.isArray(value) ? value.map((item) => (isAnswerable(item) ? item : prune(item))) : prune(value);
  };
}

function isAnswerable(value: unknown): boolean {
  return typeof value === "object" && value !== null && toResponseSymbol in value;
}

/** Values that are sent as they are: a response, bytes, a stream; and an error, which is thrown. */
function isFinished(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return (
    value instanceof Response ||
    value instanceof globalThis.Response ||
    value instanceof Uint8Array ||
    value instanceof ArrayBuffer ||
    value instanceof Blob ||
    value instanceof Error ||
    Symbol.asyncIterator in value
  );
}
