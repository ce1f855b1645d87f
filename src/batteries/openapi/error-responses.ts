import { errorTable, problemType } from "../../errors/table.js";
import { reasonPhrase } from "../../http/status.js";
import type { JsonSchema } from "../../validation/json-schema.js";
import type { SchemaComponents } from "./schema-components.js";
import type { OpenApiObject } from "./types.js";

const text: JsonSchema = { type: "string" };

const schemas = {
  Problem: {
    type: "object",
    description: "Problem details (RFC 9457).",
    properties: {
      type: { type: "string", format: "uri-reference", description: "Names the kind of problem." },
      title: { type: "string", description: "The kind of problem in a few words." },
      status: { type: "integer", description: "The HTTP status." },
      detail: { type: "string", description: "What went wrong this time." },
      instance: { type: "string", format: "uri-reference" },
      error: { type: "string", description: "The same as the title." },
    },
    required: ["type", "title", "status"],
    additionalProperties: true,
  },
  ValidationErrors: {
    type: "object",
    description: "Everything that is wrong with the input.",
    properties: {
      detail: {
        type: "array",
        items: {
          type: "object",
          properties: {
            loc: {
              type: "array",
              items: { type: ["string", "integer"] },
              description: "Where: the place (`body`, `query` ...), then the way into it.",
            },
            msg: { type: "string", description: "What is wrong, in words." },
            type: { type: "string", description: "What is wrong, by name." },
          },
          required: ["loc", "msg", "type"],
        },
      },
    },
    required: ["detail"],
  },
  AuthenticationError: {
    type: "object",
    properties: { error: text, detail: text, status: { type: "integer", const: 401 } },
    required: ["error", "detail", "status"],
  },
  ServerError: {
    type: "object",
    properties: { error: text, status: { type: "integer", const: 500 } },
    required: ["error", "status"],
  },
} satisfies Record<string, JsonSchema>;

/** The kinds of error responses of a route. */
export type ErrorKind = keyof typeof kinds;

/** A status, the body, and the meaning if it is not the reason phrase. */
const kinds = {
  BadRequest: [400, "Problem", "The request is not valid: the body is not JSON, for example."],
  InvalidModel: [400, "ValidationErrors", "The body is not valid."],
  Unauthenticated: [401, "AuthenticationError", "Credentials are missing or not valid."],
  Unauthorized: [401, "Problem", "Credentials are required."],
  Forbidden: [403, "Problem", "The credentials do not suffice."],
  NotFound: [404, "Problem", "There is nothing at this address."],
  PayloadTooLarge: [413, "Problem", "The body is larger than allowed."],
  UnsupportedMediaType: [415, "Problem", "The media type of the body is not supported."],
  ValidationFailed: [422, "ValidationErrors", "The input breaks its schema; all that is wrong with it is listed."],
  TooManyRequests: [429, "Problem", "Too many requests."],
  InternalServerError: [500, "ServerError", "The server failed."],
  ServiceUnavailable: [503, "Problem", "The server cannot handle the request now."],
} as const satisfies Record<string, readonly [status: number, schema: keyof typeof schemas, description: string]>;

/** The error responses that a document shares. */
export class ErrorResponses {
  readonly #used = new Map<string, OpenApiObject>();

  constructor(private readonly components: SchemaComponents) {}

  statusOf(kind: ErrorKind): number {
    return kinds[kind][0];
  }

  /** A reference to a response of this kind. */
  use(kind: ErrorKind): OpenApiObject {
    const [status, , description] = kinds[kind];
    if (!this.#used.has(kind)) {
      this.#used.set(kind, { description, ...headersOf(status), content: this.#content(kind) });
    }
    return { $ref: `#/components/responses/${kind}` };
  }

  /** The body of an error unless a route says otherwise: problem details. */
  problem(status: number, description: string): OpenApiObject {
    const schema = this.components.add("Problem", schemas.Problem);
    return { description, content: { "application/problem+json": { schema, example: problemExample(status) } } };
  }

  /** A response of one of several kinds with one status. */
  all(kinds: readonly ErrorKind[]): OpenApiObject {
    return kinds.length === 1 ? this.use(kinds[0]!) : this.described(kinds);
  }

  /** The same, written out. */
  described(given: readonly ErrorKind[]): OpenApiObject {
    const [status] = kinds[given[0]!];
    return {
      description: given.map((kind) => kinds[kind][2]).join(" "),
      ...headersOf(status),
      content: Object.assign({}, ...given.map((kind) => this.#content(kind))),
    };
  }

  shared(): Record<string, OpenApiObject> {
    return Object.fromEntries([...this.#used].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #content(kind: ErrorKind): OpenApiObject {
    const [status, name] = kinds[kind];
    const schema = this.components.add(name, schemas[name]);
    if (name === "Problem") return { "application/problem+json": { schema, example: problemExample(status) } };
    return { "application/json": { schema, example: examples[name] } };
  }
}

const examples = {
  ValidationErrors: { detail: [{ loc: ["body", "title"], msg: "Field required", type: "missing" }] },
  AuthenticationError: { error: "Unauthorized", detail: "Valid credentials are required.", status: 401 },
  ServerError: { error: "Internal Server Error", status: 500 },
};

function headersOf(status: number): OpenApiObject {
  const integer = { type: "integer" };
  if (status === 401) {
    return { headers: { "WWW-Authenticate": { description: "How to authenticate.", schema: { type: "string" } } } };
  }
  if (status !== 429 && status !== 503) return {};
  return { headers: { "Retry-After": { description: "Seconds to wait.", schema: integer } } };
}

function problemExample(status: number): OpenApiObject {
  const [code, [, detail]] = Object.entries(errorTable).find(([, [known]]) => known === status) ?? ["", [status, ""]];
  const title = reasonPhrase(status);
  return {
    type: problemType(code === "" ? `HTTP_${status}` : code),
    title,
    status,
    detail,
    error: title,
    ...(status === 429 && { retry_after: 30 }),
  };
}
