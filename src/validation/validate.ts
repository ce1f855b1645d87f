import { httpError } from "../errors/http-error.js";
import { isTooDeep, requireJsonType } from "../http/json/json.js";
import type { Request } from "../http/request.js";
import { show } from "../kit/options.js";
import { didYouMean } from "../kit/suggest.js";
import { ValueError } from "../kit/value-error.js";
import type { Injected, Step } from "../pipeline/endpoint.js";
import { type BodyResult, type BodyValidator, bodyValidatorSymbol, isBodyValidator } from "./body-validator.js";
import { inputReader } from "./inputs.js";
import { type Issue, maxIssues, toIssues, ValidationError } from "./issues.js";
import { jsonSchemaOf } from "./json-schema.js";
import { isStandardSchema, type SchemaResult, type StandardSchema } from "./standard-schema.js";

export interface Schemas {
  readonly params?: StandardSchema | undefined;
  readonly query?: StandardSchema | undefined;
  readonly headers?: StandardSchema | undefined;
  readonly body?: StandardSchema | BodyValidator | undefined;
  readonly form?: StandardSchema | undefined;
}

type Place = keyof Schemas;
type Outcome = BodyResult<unknown>;
type Check = (request: Request) => Outcome | Promise<Outcome>;

/** The order of the issues in a response. */
const places: readonly Place[] = ["params", "query", "headers", "body", "form"];

/**
 * The step that validates the input of a route, or null if the route has no schema. All mistakes are reported together, up to
 * `limit`.
 */
export function validationStep(
  options: Schemas & { readonly stream?: boolean; readonly anyContentType?: boolean },
  owner: string,
  paramNames: readonly string[] = [],
  limit: number = maxIssues,
): Step | null {
  const given = places.filter((place) => options[place] !== undefined);
  if (given.length === 0) return null;
  checkPlaces(given, options.stream === true, owner);
  if (isStandardSchema(options.params)) checkParams(options.params, paramNames, owner);
  const checks = given.map((place) => checkOf(place, options[place], owner, limit, options.anyContentType !== true));
  return (request, injected) => {
    const outcomes: (Outcome | Promise<Outcome>)[] = [];
    let waiting = false;
    try {
      for (const check of checks) {
        const outcome = check(request);
        outcomes.push(outcome);
        if (outcome instanceof Promise) waiting = true;
      }
    } catch (error) {
      // These are no longer awaited: a rejection must not end the process.
      if (waiting) void Promise.allSettled(outcomes);
      throw error;
    }
    if (!waiting) return collect(given, outcomes as Outcome[], injected, limit);
    return Promise.all(outcomes).then((settled) => collect(given, settled, injected, limit));
  };
}

function checkPlaces(given: readonly Place[], streams: boolean, owner: string): void {
  if (given.includes("body") && given.includes("form")) {
    throw new ValueError(`${owner} has both a 'body' and a 'form'; a request has one body`);
  }
  const early = given.find((place) => place === "body" || place === "form");
  if (streams && early !== undefined) {
    throw new ValueError(
      `${owner} has 'stream: true', so it runs before the body is read: '${early}' cannot be validated`,
    );
  }
}

/** Throws for a schema of parameters that the path does not have: no request could fit it. */
function checkParams(schema: StandardSchema, names: readonly string[], owner: string): void {
  const root = jsonSchemaOf(schema, "input");
  const required = root?.["required"];
  const missing = Array.isArray(required) ? required.find((name) => !names.includes(name)) : undefined;
  if (missing === undefined) return;
  throw new ValueError(
    `'params' of ${owner} needs '${missing}', which is no parameter of the path${didYouMean(missing, names)}`,
  );
}

/** `typed`: a body must say that it is JSON. */
function checkOf(place: Place, schema: unknown, owner: string, limit: number, typed: boolean): Check {
  if (place === "body" && isBodyValidator(schema)) return modelCheck(schema, limit, typed);
  if (!isStandardSchema(schema)) {
    throw new ValueError(`'${place}' of ${owner} must be a schema (zod, valibot, arktype ...), not ${show(schema)}`);
  }
  if (place === "body") return bodyCheck(schema, limit, typed);
  const read = inputReader(place, schema);
  const standard = schema["~standard"];
  return (request) => {
    const input = read(request);
    return settle(place, standard.validate(input), input, limit);
  };
}

/** A missing body is `undefined` for a schema that accepts it, else 400. */
function bodyCheck(schema: StandardSchema, limit: number, typed: boolean): Check {
  const standard = schema["~standard"];
  return (request) => {
    if (request.bytes().length > 0) {
      if (typed) requireJsonType(request.source);
      const input = jsonOf(request);
      return settle("body", standard.validate(input), input, limit);
    }
    const result = standard.validate(undefined);
    return result instanceof Promise ? result.then(orEmptyBody) : orEmptyBody(result);
  };
}

/** The contract has its own response for a validated body that is nested too deep. */
function jsonOf(request: Request): unknown {
  try {
    return request.json();
  } catch (error) {
    if (!isTooDeep(error)) throw error;
    throw new ValidationError([{ loc: ["body"], msg: "Invalid JSON body", type: "value_error.json" }], 400);
  }
}

function orEmptyBody(result: SchemaResult<unknown>): Outcome {
  if (result.issues) throw httpError("EMPTY_BODY");
  return result;
}

/** A validator that reads the bytes itself is given JSON only. */
function modelCheck(model: BodyValidator, limit: number, typed: boolean): Check {
  return (request) => {
    if (typed || request.strictJson) requireJsonType(request.source);
    return model[bodyValidatorSymbol](request.bytes(), limit);
  };
}

function settle(
  place: Place,
  result: SchemaResult<unknown> | Promise<SchemaResult<unknown>>,
  input: unknown,
  limit: number,
): Outcome | Promise<Outcome> {
  if (result instanceof Promise) return result.then((settled) => outcomeOf(place, settled, input, limit));
  return outcomeOf(place, result, input, limit);
}

function outcomeOf(place: Place, result: SchemaResult<unknown>, input: unknown, limit: number): Outcome {
  return result.issues ? { issues: toIssues(place, result.issues, input, limit), status: 422 } : result;
}

function collect(given: readonly Place[], outcomes: readonly Outcome[], injected: Injected, limit: number): void {
  let issues: Issue[] | undefined;
  let status = 0;
  for (let i = 0; i < given.length; i++) {
    const outcome = outcomes[i]!;
    if (outcome.issues) {
      issues = issues ? [...issues, ...outcome.issues] : [...outcome.issues];
      status = Math.max(status, outcome.status);
    } else injected[given[i]!] = outcome.value;
  }
  if (issues) throw new ValidationError(issues.slice(0, limit), status);
}
