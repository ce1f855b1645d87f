import { setMaxListeners } from "node:events";
import { utf8Of } from "../kit/encoding.js";
import type { Logger } from "../kit/logger.js";
import { addSnakeNames } from "../kit/names.js";
import { inspectSymbol, nodeCrypto, nodeUtil } from "../kit/node-modules.js";
import { onDemand } from "../kit/on-demand.js";
import type { Span } from "../kit/tracer.js";
import { type Authority, AuthorityEndedError } from "./authority.js";
import { bodyCoding, type DecompressRules } from "./body/content-encoding.js";
import { type Form, parseForm } from "./body/form.js";
import { decodeStream } from "./body/load-decoder.js";
import type { MultipartLimits } from "./body/multipart-parser.js";
import type { Part } from "./body/parts.js";
import { type Cookies, parseCookies } from "./fields/cookies.js";
import { RequestHeaders } from "./fields/headers.js";
import { explainForeignMembers } from "./foreign-members.js";
import { parseJson, requireJsonType } from "./json/json.js";
import { decodedPath } from "./path.js";
import type { ClientCertificate } from "./peer/client-certificate.js";
import { Query } from "./query.js";
import type { RequestSource } from "./source.js";

/** Values that middleware passes on to later middleware and the handler. Merge into this interface to declare more keys. */
export interface RequestContext {
  /** The name of the user, set by `BasicAuth`. */
  user?: string;
  /** The name of the key's holder, set by `ApiKeyAuth`. */
  api_key_name?: string;
  /** The id of the request, set by `enableRequestId()`. */
  request_id?: string;
  [key: string]: unknown;
}

/** Members that features add to the request. Each feature declares its own. */
export interface RequestMembers {}

/** The part of the application that a request uses. The contract of features merges the rest of it into this interface. */
export interface RequestHost {
  readonly logger: Logger;
  readonly debug: boolean;
  bodyLimit: number;
  /** Determines the client's address. */
  addressOf: (request: Request) => string;
  /** Determines scheme and host where proxies are trusted; null elsewhere. */
  originOf: ((request: Request) => string) | null;
  /** The longest time that one request waits for all shared stores together. */
  storePatienceMs: number;
}

/** The reason why no route matches a request, as the table of routes gives it. */
export interface RouteMiss {
  readonly reason: "malformed-path" | "not-found" | "method-not-allowed" | "upgrade-required";
  /** The methods that have a route at the path. */
  readonly allow: readonly string[];
}

const noParams: Readonly<Record<string, string>> = Object.freeze(Object.create(null));
const noBytes: Uint8Array = new Uint8Array(0);

/** An HTTP request. Everything but the method and the path is computed on first use. */
export class Request<Params extends object = Record<string, string>> {
  /** The method in capital letters, such as `GET`. */
  readonly method: string;
  /**
   * The path without the query, with percent escapes decoded as routes match them: `/%61dmin` is `/admin`. Escapes of
   * slashes, `%`, `?`, `#`, white space and control characters stay. `target` is the text as received.
   */
  readonly path: string;
  /** @internal */
  readonly source: RequestSource;
  /** @internal Filled by the application before anything else sees the request. */
  host: RequestHost | null = null;
  /** @internal The names are from the route, the values from the path. */
  paramNames: readonly string[] | null = null;
  /** @internal */
  paramValues: readonly string[] | null = null;
  /** @internal The reason why no route matches; null if one does. */
  miss: RouteMiss | null = null;
  /** The pattern of the matching route, such as `/books/{id}`; null if no route matches. */
  pattern: string | null = null;
  /** The error that became the response, if there was one. */
  error: unknown = undefined;
  /** @internal The start of the request on the monotonic clock, set by logging or metrics; 0 if neither is enabled. */
  startedAt = 0;
  /** @internal The span of the request; null without telemetry. */
  serverSpan: Span | null = null;
  /** @internal The whole body once it has been read. */
  bytesRead: Uint8Array | null = null;
  /** @internal Values that the dependency container made for this request. */
  scope: Map<string, unknown> | null = null;
  /** @internal True if the client was identified: a shared cache must not store the response. */
  personal = false;
  /**
   * @internal Set where a cookie identifies the client. A page of another site can have the browser send that cookie with
   * a body of type text/plain without asking first, but not with a body of type JSON.
   */
  strictJson = false;
  #params: Params | null = null;
  #query: Query | null = null;
  #headers: RequestHeaders | null = null;
  #cookies: Cookies | null = null;
  #context: RequestContext | null = null;
  #json: { value: unknown } | null = null;
  #form: Form | null = null;
  #abort: AbortController | null = null;
  #abortReason: unknown = undefined;
  #onAbort: ((reason: unknown) => void)[] | null = null;
  #id: string | null = null;
  #log: Logger | null = null;
  #logFields: Readonly<Record<string, string | number>> | null = null;
  #unfinished = 1;
  #afterwards: (() => void | Promise<void>)[] | null = null;
  #authorities: Authority[] | null = null;
  #isLasting = false;

  constructor(source: RequestSource) {
    this.source = source;
    this.method = source.method;
    this.path = source.path.includes("%") ? decodedPath(source.path) : source.path;
  }

  /** The path parameters by name. They are always strings, decoded once. */
  get params(): Params {
    return (this.#params ??= buildParams(this.paramNames, this.paramValues) as Params);
  }

  /** The query parameters. */
  get query(): Query {
    return (this.#query ??= new Query(this.source.search, 1));
  }

  /** The header fields. Names are case-insensitive. */
  get headers(): RequestHeaders {
    return (this.#headers ??= new RequestHeaders(this.source));
  }

  /** The cookies. */
  get cookies(): Cookies {
    return (this.#cookies ??= parseCookies(this.source.header("cookie") ?? ""));
  }

  /** Values that middleware passes on, such as `jwt_claims`, `user`, `api_key_name` and `request_id`. */
  get context(): RequestContext {
    return (this.#context ??= {});
  }

  /** The absolute URL. The scheme and host are those of the client, or those that a trusted proxy reports. */
  get url(): string {
    const origin = this.host?.originOf?.(this as unknown as Request);
    if (origin !== undefined) return origin + this.target;
    const scheme = this.source.secure ? "https" : "http";
    return `${scheme}://${this.source.header("host") ?? "localhost"}${this.target}`;
  }

  /** The path and the query as received, with all percent escapes: `/books/caf%C3%A9?page=2`. */
  get target(): string {
    return this.source.path + this.source.search;
  }

  /** The IP address of the client: the peer of the connection, or the address that a trusted proxy reports. */
  get ip(): string {
    return this.host?.addressOf(this as unknown as Request) ?? this.source.remoteAddress;
  }

  /** The certificate of the client; null if it has none, or none was requested: see option `tls` of `run`. */
  get clientCertificate(): ClientCertificate | null {
    return this.source.clientCertificate ?? null;
  }

  /** Aborted when the client disconnects or the request times out. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      // One for each statement that runs.
      setMaxListeners(0, this.#abort.signal);
      if (this.#abortReason !== undefined) this.#abort.abort(this.#abortReason);
    }
    return this.#abort.signal;
  }

  /** The id of the request: `request_id` of the context, or a new UUID. */
  get id(): string {
    return this.#context?.request_id ?? (this.#id ??= nodeCrypto().randomUUID());
  }

  /** @internal The id, or null if there is none yet. */
  get knownId(): string | null {
    return this.#context?.request_id ?? this.#id;
  }

  /** @internal Fields that describe the work of the request, for its lines in the log; null for none. */
  get logFields(): Readonly<Record<string, string | number>> | null {
    return this.#logFields;
  }

  set logFields(fields: Readonly<Record<string, string | number>> | null) {
    this.#logFields = fields;
    this.#log = null;
  }

  /** A logger that adds the method, the path, the id and, with telemetry, the trace id of the request to each line. */
  get log(): Logger {
    if (!this.host) throw new Error("request.log is available once an application handles the request");
    if (this.#log === null) {
      const fields = { request_id: this.id, method: this.method, path: this.path, ...this.#logFields };
      const { serverSpan } = this;
      this.#log = this.host.logger.child(serverSpan === null ? fields : { ...fields, trace_id: serverSpan.traceId });
    }
    return this.#log;
  }

  /**
   * The body, parsed as JSON. An invalid body throws 400. The Content-Type is not checked, except in applications with
   * sessions, where another type than JSON throws 415; route options `body` always check it.
   */
  json<T = unknown>(): T {
    if (!this.#json) {
      if (this.strictJson) requireJsonType(this.source);
      this.#json = { value: parseJson(this.bytes()) };
    }
    return this.#json.value as T;
  }

  /** The body as text. Bytes that are not UTF-8 become U+FFFD. */
  text(): string {
    return utf8Of(this.bytes());
  }

  /** The body as bytes; empty if the request has none. */
  bytes(): Uint8Array {
    if (this.bytesRead) return this.bytesRead;
    const body = this.source.body;
    if (!body) return noBytes;
    if (body.received) return (this.bytesRead = body.received);
    throw new Error("the body has not been read: a route with `stream: true` reads it with request.stream()");
  }

  /** The body as a form, url-encoded or multipart. Another Content-Type throws 415, a malformed form 400. */
  form(limits?: MultipartLimits): Form {
    return (this.#form ??= parseForm(this.source.header("content-type"), this.bytes(), limits));
  }

  /** The body as it arrives, for routes with `stream: true`. */
  stream(): AsyncIterableIterator<Uint8Array> {
    const body = this.source.body;
    if (this.bytesRead || !body) return pieces(this.bytesRead);
    const coding = bodyCoding(this.source, this.decompress);
    const stream = body.stream(this.bodyLimit);
    return coding === null ? stream : decodeStream(stream, coding, this.decompress!, this.bodyLimit);
  }

  /** The parts of a multipart body, one after the other, for routes with `stream: true`. */
  parts(limits?: MultipartLimits): AsyncIterableIterator<Part> {
    return partsOf(this.source.header("content-type"), this.stream(), limits);
  }

  /** Runs a function after the response has been sent, or after the client has disconnected. */
  onFinish(callback: () => void | Promise<void>): void {
    if (this.#unfinished > 0) (this.#afterwards ??= []).push(callback);
    else void runAll([callback], this.host?.logger);
  }

  /** @internal Delays the `onFinish` functions until `finish` has been called once more. */
  hold(): void {
    this.#unfinished++;
  }

  /** @internal Called by the transport, once, when the response has been sent or can no longer be sent. */
  finish(): void {
    if (--this.#unfinished > 0) return;
    const callbacks = this.#afterwards;
    if (!callbacks) return;
    this.#afterwards = null;
    void runAll(callbacks, this.host?.logger);
  }

  /** @internal The limit of the route; null for that of the application. */
  routeBodyLimit: number | null = null;

  /** @internal The rules by which the route decodes encoded bodies; null if it does not. */
  decompress: DecompressRules | null = null;

  /** @internal */
  get bodyLimit(): number {
    return this.routeBodyLimit ?? this.host?.bodyLimit ?? Number.POSITIVE_INFINITY;
  }

  /** @internal Called by the transport when the client disconnects, and by the pipeline on a timeout. */
  abort(reason: unknown): void {
    if (this.#abortReason !== undefined) return;
    this.#abortReason = reason;
    this.#abort?.abort(reason);
    if (this.#onAbort !== null) for (const callback of this.#onAbort) callback(reason);
  }

  /** @internal Calls a function with the reason when the request is aborted. Cheaper than the signal. */
  onAbort(callback: (reason: unknown) => void): void {
    if (this.#abortReason !== undefined) callback(this.#abortReason);
    else (this.#onAbort ??= []).push(callback);
  }

  /** @internal Adds a session or a token with which the request was accepted. */
  acceptedWith(authority: Authority): void {
    if (this.#authorities === null) this.#authorities = [authority];
    else this.#authorities.push(authority);
    if (this.#isLasting) this.#endWith(authority);
  }

  /**
   * @internal Called for a request that lasts, such as a WebSocket: it is aborted when its session or token ends. Other
   * requests are completed.
   */
  endWithAuthority(): void {
    if (this.#isLasting) return;
    this.#isLasting = true;
    if (this.#authorities !== null) for (const authority of this.#authorities) this.#endWith(authority);
  }

  #endWith(authority: Authority): void {
    this.onFinish(authority.watch(() => this.abort(new AuthorityEndedError())));
  }

  /** @internal */
  get aborted(): boolean {
    return this.#abortReason !== undefined;
  }

  /** @internal True if there is a context. Asking for `context` would make one. */
  get hasContext(): boolean {
    return this.#context !== null;
  }

  /** The request in a log line or in JSON: without headers, query and body, which may hold secrets. */
  toJSON(): { method: string; path: string } {
    return { method: this.method, path: this.path };
  }

  [inspectSymbol](): string {
    return `Request { ${this.method} ${nodeUtil().inspect(this.target)} }`;
  }
}
// biome-ignore lint/correctness/noUnusedVariables: declarations that merge have the same parameters
export interface Request<Params extends object = Record<string, string>> extends RequestMembers {
  /** `onFinish` in snake case. */
  on_finish(callback: () => void | Promise<void>): void;
  /** `clientCertificate` in snake case. */
  readonly client_certificate: ClientCertificate | null;
}

addSnakeNames(Request.prototype, ["onFinish", "clientCertificate"]);
explainForeignMembers(Request.prototype);

/** An object without inherited members, and yet with a shape that engines optimise (unlike `Object.create(null)`). */
function Bare(): void {}
Bare.prototype = Object.create(null);

function buildParams(names: readonly string[] | null, values: readonly string[] | null): object {
  if (!names || !values) return noParams;
  const params = new (Bare as unknown as new () => Record<string, string>)();
  for (let i = 0; i < names.length; i++) params[names[i]!] = values[i]!;
  return params;
}

const withParts = onDemand(() => import("./body/parts.js"));

async function* partsOf(
  contentType: string | undefined,
  body: AsyncIterable<Uint8Array>,
  limits: MultipartLimits | undefined,
): AsyncIterableIterator<Part> {
  yield* await withParts(({ readParts }) => readParts(contentType, body, limits));
}

async function* pieces(bytes: Uint8Array | null): AsyncIterableIterator<Uint8Array> {
  if (bytes?.length) yield bytes;
}

async function runAll(callbacks: readonly (() => void | Promise<void>)[], logger: Logger | undefined): Promise<void> {
  for (const callback of callbacks) {
    try {
      await callback();
    } catch (error) {
      logger?.error("a callback after the response failed", { error });
    }
  }
}
