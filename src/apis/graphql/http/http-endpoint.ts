import type { Request } from "../../../http/request.js";
import { Response } from "../../../http/response.js";
import { GraphqlContext } from "../context.js";
import type { TextResult } from "../execute/compile.js";
import { GraphQLError } from "../graphql-js.js";
import { holdUntil, type Operations, type PreparedOperation } from "../operations.js";
import { type OperationParameters, Refusal, readParameters } from "../parameters.js";
import type { EventStreams } from "../subscriptions/event-streams.js";
import { acceptsParts, type Form, preferredForm } from "./accept.js";
import { BadRequest, isEmbeddedElsewhere, readBody, readQuery } from "./read-request.js";
import type { UploadSettings } from "./upload-options.js";
import { isMultipart, readUpload } from "./uploads.js";

const types = {
  response: "application/graphql-response+json; charset=utf-8",
  json: "application/json; charset=utf-8",
} as const;

type JsonForm = keyof typeof types;

export interface HttpEndpointParts {
  readonly operations: Operations;
  /** Operations in one request; 0 for none but the one. */
  readonly maxBatch: number;
  readonly streams: EventStreams;
  /** True if clients may take results in parts. */
  readonly incremental: boolean;
  /** Null if files are not accepted. */
  readonly uploads: UploadSettings | null;
  /** The page for browsers; null without one. */
  readonly playground: ((request: Request) => Response | Promise<Response>) | null;
}

/** GraphQL over HTTP: one operation, or a list of them, in a GET or POST request. */
export class HttpEndpoint {
  readonly #parts: HttpEndpointParts;
  readonly #operations: Operations;

  constructor(parts: HttpEndpointParts) {
    this.#parts = parts;
    this.#operations = parts.operations;
  }

  get(request: Request): Response | Promise<Response> {
    const { playground } = this.#parts;
    const form = this.#formOf(request, playground !== null);
    if (form === "html" && playground !== null) return playground(request);
    if (form === null || form === "html") return this.#bad(request, notAcceptable, "json");
    if (isEmbeddedElsewhere(request)) {
      return this.#bad(request, new BadRequest(403, "The request comes from a page of another site."), form);
    }
    const parameters = readQuery(request);
    if (parameters instanceof Refusal) return this.#refuse(request, parameters, form);
    const response = this.#run(request, parameters, form, true);
    return response instanceof Promise ? response.then(varying) : varying(response);
  }

  post(request: Request): Response | Promise<Response> {
    const form = this.#formOf(request, false);
    if (form === null || form === "html") return this.#bad(request, notAcceptable, "json");
    const { uploads } = this.#parts;
    const isUpload = uploads !== null && isMultipart(request.source.header("content-type"));
    const body = isUpload ? readUpload(request, uploads) : readBody(request);
    if (body instanceof BadRequest) return this.#bad(request, body, form);
    if (Array.isArray(body)) return this.#batch(request, body, form);
    const parameters = readParameters(body);
    if (parameters instanceof Refusal) return this.#refuse(request, parameters, form);
    return this.#run(request, parameters, form, false);
  }

  #formOf(request: Request, pages: boolean): Form | null {
    const accept = request.source.header("accept");
    return preferredForm(accept, pages) ?? (this.#parts.incremental && acceptsParts(accept) ? "json" : null);
  }

  #run(request: Request, parameters: OperationParameters, form: Form, readOnly: boolean): Response | Promise<Response> {
    const prepared = this.#operations.prepare(parameters);
    if (prepared instanceof Promise) return prepared.then((ready) => this.#start(request, ready, form, readOnly));
    return this.#start(request, prepared, form, readOnly);
  }

  #start(
    request: Request,
    prepared: PreparedOperation | Refusal,
    form: Form,
    readOnly: boolean,
  ): Response | Promise<Response> {
    if (prepared instanceof Refusal) return this.#refuse(request, prepared, form);
    if (readOnly && prepared.kind === "mutation") {
      const bad = new BadRequest(405, "A mutation is sent with POST.", { Allow: "POST" });
      return this.#bad(request, bad, form);
    }
    request.logFields = prepared.operation.logFields;
    if (form === "events") return this.#parts.streams.respond(request, prepared);
    if (prepared.kind === "subscription") {
      const message = "A subscription is sent over a WebSocket, or with Accept: text/event-stream.";
      return this.#bad(request, new BadRequest(406, message), form);
    }
    const type = types[form as JsonForm];
    const context = new GraphqlContext(request);
    const inParts = this.#parts.incremental && acceptsParts(request.source.header("accept"));
    const result = this.#operations.execute(prepared, context, inParts);
    if (result instanceof Promise) return result.then((done) => this.#respond(context, done, type));
    return this.#respond(context, result, type);
  }

  #respond(context: GraphqlContext, result: TextResult, type: string): Response {
    const { request } = context;
    if (result.running !== null && !result.more) context.abort();
    if (result.errors !== null) request.logFields = { ...request.logFields, graphql_errors: result.errors.length };
    if (result.more !== undefined) return this.#inParts(context, result);
    return new Response(this.#operations.responseText(result, request), 200, type);
  }

  #inParts(context: GraphqlContext, result: TextResult): Response {
    const payloads = this.#operations.payloads(result, context, (running) => holdUntil(context.request, running));
    return partsResponse(payloads, () => context.abort());
  }

  /** All operations of a list run at once, as separate requests would. */
  async #batch(request: Request, list: readonly unknown[], form: Form): Promise<Response> {
    const { maxBatch } = this.#parts;
    if (form === "events") return this.#bad(request, notAcceptable, "json");
    if (maxBatch === 0) return this.#bad(request, new BadRequest(400, "A list of operations is not accepted."), form);
    if (list.length === 0 || list.length > maxBatch) {
      return this.#bad(request, new BadRequest(400, `A list has from 1 to ${maxBatch} operations.`), form);
    }
    const context = new GraphqlContext(request);
    const items = await Promise.all(list.map((item) => this.#item(item, context)));
    if (items.some(([, running]) => running)) context.abort();
    return new Response(`[${items.map(([text]) => text).join(",")}]`, 200, types[form as JsonForm]);
  }

  /** The text of the result, and whether resolvers are left behind. */
  async #item(item: unknown, context: GraphqlContext): Promise<readonly [text: string, running: boolean]> {
    const { request } = context;
    const parameters = readParameters(item);
    const prepared = parameters instanceof Refusal ? parameters : await this.#operations.prepare(parameters);
    const refused = (errors: readonly GraphQLError[]) =>
      [`{"errors":${this.#operations.errorsText(errors, request)}}`, false] as const;
    if (prepared instanceof Refusal) return refused(prepared.errors);
    if (prepared.kind === "subscription")
      return refused([new GraphQLError("A subscription cannot be part of a list.")]);
    const result = await this.#operations.execute(prepared, context);
    return [this.#operations.responseText(result, request), result.running !== null];
  }

  /**
   * An operation that is not executed. With `application/json` the status is 200, as GraphQL over HTTP wants it for
   * clients that take any other status for a failure of the network.
   */
  #refuse(request: Request, { errors, malformed }: Refusal, form: Form): Response {
    const text = `{"errors":${this.#operations.errorsText(errors, request)}}`;
    const status = form === "json" && !malformed ? 200 : 400;
    return new Response(text, status, types[form === "json" ? "json" : "response"]);
  }

  #bad(request: Request, { status, message, headers }: BadRequest, form: Form): Response {
    const text = `{"errors":${this.#operations.errorsText([new GraphQLError(message)], request)}}`;
    const response = new Response(text, status, types[form === "response" ? "response" : "json"]);
    for (const [name, value] of Object.entries(headers)) response.addField(name, value);
    return response;
  }
}

const notAcceptable = new BadRequest(
  406,
  "Accept must allow application/graphql-response+json, application/json or text/event-stream.",
);

/**
 * A result in parts: the boundary after each of them tells the client at once that it is complete. `onLeft` is called if not
 * all are taken. A generator would not notice that before the first: the response to HEAD takes none.
 */
function partsResponse(payloads: AsyncGenerator<string, void, undefined>, onLeft: () => void): Response {
  async function* write(): AsyncGenerator<string, void, undefined> {
    let start = "---";
    for await (const text of payloads) {
      yield `${start}\r\nContent-Type: application/json; charset=utf-8\r\n\r\n${text}\r\n---`;
      start = "";
    }
    yield "--\r\n";
  }
  const parts = write();
  const iterator: AsyncIterator<string> = {
    next: () => parts.next(),
    return() {
      onLeft();
      return parts.return();
    },
  };
  const body = { [Symbol.asyncIterator]: () => iterator };
  const response = Response.stream(body, { headers: { "Content-Type": 'multipart/mixed; boundary="-"' } });
  response.addField("Cache-Control", "no-cache");
  response.addField("X-Accel-Buffering", "no");
  return response;
}

function varying(response: Response): Response {
  response.addField("Vary", "Accept");
  return response;
}
