/**
 * The part of a client that is the same for every application, as text: it is copied into the file. It has no template
 * literals, because it stands in one.
 */
export const runtime = String.raw`// Everything below is the same for every application.

export type HeaderFields = Readonly<Record<string, string | number | boolean | undefined>>;

type FetchOptions = Omit<NonNullable<Parameters<typeof fetch>[1]>, "method" | "headers" | "body" | "signal">;

/** Options of a client, and of a single call. */
export interface CallOptions {
  /** Aborts the request, its retries, and the reading of an event stream. */
  readonly signal?: AbortSignal | undefined;
  /** How often a request is sent again. Default 2. Only if that is safe: see the method send() below. */
  readonly retries?: number | undefined;
  /** Further options of fetch: credentials, cache, keepalive. */
  readonly fetchOptions?: FetchOptions | undefined;
}

export interface ClientOptions extends CallOptions {
  /** The address of the application, with the prefix of its paths if it has one. Default in a browser: that of the page. */
  readonly baseUrl?: string | undefined;
  /** Header fields of every request. A function is called for each request, so a token can be renewed. */
  readonly headers?: HeaderFields | (() => HeaderFields | Promise<HeaderFields>) | undefined;
  readonly fetch?: ((url: string, init: NonNullable<Parameters<typeof fetch>[1]>) => Promise<Response>) | undefined;
}

/** An event of an event stream. */
export interface ServerEvent<Data> {
  readonly data: Data;
  /** The type of the event; "message" unless the server names another. */
  readonly event: string;
  /** The last id that the server has sent; empty without one. */
  readonly id: string;
}

/** The statuses of errors. Those that the document does not list for an operation can come from a proxy, for example. */
export type ErrorStatus =
  | 400 | 401 | 402 | 403 | 404 | 405 | 406 | 407 | 408 | 409 | 410 | 411 | 412 | 413 | 414 | 415 | 416 | 417 | 418 | 421 | 422
  | 423 | 424 | 425 | 426 | 428 | 429 | 431 | 451 | 500 | 501 | 502 | 503 | 504 | 505 | 506 | 507 | 508 | 510 | 511 | 520 | 521
  | 522 | 523 | 524 | 525 | 526;

/** A response with a status of 400 or more. */
export class ApiError<Status extends number = number, Body = unknown> extends Error {
  override readonly name: string = "ApiError";
  /** "GET /books/{id}" */
  readonly operation: string;
  readonly status: Status;
  /** Names the kind of problem: "NOT_FOUND". "HTTP_422" if the body names none. */
  readonly code: string;
  /** JSON as a value, anything else as text. */
  readonly body: Body;
  readonly headers: Headers;

  constructor(operation: string, status: Status, body: Body, headers: Headers) {
    const { type, detail, error } = Object(body) as { type?: unknown; detail?: unknown; error?: unknown };
    const reason = [detail, error].find((text) => typeof text === "string") ?? (detail && JSON.stringify(detail));
    super(operation + ": " + status + (reason ? " " + reason : ""));
    const name = typeof type === "string" ? (/\/errors\/([\w-]+)$/.exec(type)?.[1] ?? "") : "";
    this.operation = operation;
    this.status = status;
    this.code = name === "" ? "HTTP_" + status : name.replaceAll("-", "_").toUpperCase();
    this.body = body;
    this.headers = headers;
  }
}

/** True for an error that the server sent. With a method and a path, its body has the type of its status there. */
export function isApiError(error: unknown): error is ApiError;
export function isApiError<M extends Verb, P extends PathsWith<M>>(
  error: unknown,
  method: M,
  path: P,
): error is ErrorsOf<OperationAt<P, M>>;
export function isApiError(error: unknown, method?: string, path?: string): boolean {
  if (!(error instanceof ApiError)) return false;
  return method === undefined || error.operation === method.toUpperCase() + " " + path;
}

type Verb = "get" | "head" | "options" | "post" | "put" | "patch" | "delete";
type PathsWith<M extends Verb> = {
  [P in keyof Operations]: M extends keyof Operations[P] ? P : never;
}[keyof Operations];
type OperationAt<P extends keyof Operations, M extends Verb> = M extends keyof Operations[P] ? Operations[P][M] : never;
type InputOf<O> = Omit<O, "result" | "errors">;
type ArgumentsOf<O, Options> = {} extends InputOf<O>
  ? [init?: InputOf<O> & Options]
  : [init: InputOf<O> & Options];
type ResultOf<O> = O extends { result: infer R } ? R : never;
type ErrorsOf<O> = O extends { errors: infer E }
  ? { [S in keyof E]: ApiError<S & number, E[S]> }[keyof E] | ApiError<Exclude<ErrorStatus, keyof E>, unknown>
  : never;
type Call<M extends Verb> = <P extends PathsWith<M>>(
  path: P,
  ...init: ArgumentsOf<OperationAt<P, M>, CallOptions & { readonly headers?: HeaderFields }>
) => Promise<ResultOf<OperationAt<P, M>>>;

export interface ApiClient extends Readonly<{ [M in Verb]: Call<M> }> {
  /** Sends a request and returns the plain response, whatever its status is: for its header fields, or to stream its body. */
  raw<M extends Verb, P extends PathsWith<M>>(
    method: M,
    path: P,
    ...init: ArgumentsOf<OperationAt<P, M>, CallOptions & { readonly headers?: HeaderFields }>
  ): Promise<Response>;
  /** The whole address of a GET, for links and images. */
  url<P extends PathsWith<"get">>(path: P, ...init: ArgumentsOf<Omit<OperationAt<P, "get">, "headers">, {}>): string;
  /** The whole address of a WebSocket, for new WebSocket(). */
  socketUrl<P extends keyof Sockets>(path: P, ...init: ArgumentsOf<Sockets[P], {}>): string;
}

export function createClient(options: ClientOptions = {}): ApiClient {
  const call =
    (method: Verb) =>
    async (path: string, init: AnyInput = {}): Promise<unknown> => {
      const response = await send(options, method, path, init);
      const operation = method.toUpperCase() + " " + path;
      if (!response.ok) throw new ApiError(operation, response.status, await errorBody(response), response.headers);
      return method === "head" ? undefined : resultOf(response, jsonStreams.includes(operation));
    };
  const client = {
    get: call("get"),
    head: call("head"),
    options: call("options"),
    post: call("post"),
    put: call("put"),
    patch: call("patch"),
    delete: call("delete"),
    raw: (method: Verb, path: string, init: AnyInput = {}) => send(options, method, path, init),
    url: (path: string, init: AnyInput = {}) => addressOf(options, path, init),
    socketUrl: (path: string, init: AnyInput = {}) => addressOf(options, path, init).replace(/^http/, "ws"),
  };
  return client as unknown as ApiClient;
}

interface AnyInput extends CallOptions {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly headers?: HeaderFields;
  readonly body?: unknown;
  readonly form?: Readonly<Record<string, unknown>>;
}

const idempotent = ["get", "head", "options", "put", "delete"];
const worthRetrying = [408, 429, 502, 503, 504];
/** A server that asks for a longer pause gets no retry. */
const longestPause = 30_000;

/**
 * Sends a request. It is sent again if the connection fails or the server is busy, and only if its method is idempotent or it
 * has an Idempotency-Key: otherwise its effect could happen twice.
 */
async function send(options: ClientOptions, method: Verb, path: string, init: AnyInput): Promise<Response> {
  const address = addressOf(options, path, init);
  const body = bodyOf(init);
  const retries = init.retries ?? options.retries ?? 2;
  const [first, second] = [options.signal, init.signal];
  const signal = first && second ? AbortSignal.any([first, second]) : (first ?? second);
  for (let sent = 1; ; sent++) {
    const headers = new Headers(typeof body === "string" ? { "Content-Type": "application/json" } : {});
    const shared = typeof options.headers === "function" ? await options.headers() : options.headers;
    for (const [name, value] of [...Object.entries(shared ?? {}), ...Object.entries(init.headers ?? {})]) {
      if (value !== undefined) headers.set(name, String(value));
    }
    const mayRetry = sent <= retries && (idempotent.includes(method) || headers.has("Idempotency-Key"));
    const request = { ...options.fetchOptions, ...init.fetchOptions, method: method.toUpperCase(), headers, body };
    const response = await (options.fetch ?? fetch)(address, { ...request, signal: signal ?? null }).catch((error: unknown) => {
      if (!mayRetry || signal?.aborted) throw error;
      return undefined;
    });
    if (response && !(mayRetry && worthRetrying.includes(response.status))) return response;
    const pause = pauseOf(response?.headers.get("Retry-After") ?? "", sent);
    if (response && pause > longestPause) return response;
    await response?.body?.cancel();
    await waitFor(pause, signal);
  }
}

function addressOf({ baseUrl = "" }: ClientOptions, path: string, { params = {}, query = {} }: AnyInput): string {
  const filled = path.replace(/\{([^}]+)\}/g, (_, name: string) => {
    const value = String(params[name] ?? "");
    // These would change the path to another one.
    if (/^\.{0,2}$/.test(value)) throw new TypeError("the parameter " + name + " of " + path + " must not be '" + value + "'");
    return encodeURIComponent(value);
  });
  const page = (globalThis as { location?: { href?: string } }).location?.href;
  const address = baseUrl.replace(/\/+$/, "") + filled;
  if (page === undefined && !/^https?:/i.test(address)) throw new TypeError("createClient() needs a baseUrl outside of a browser");
  const url = new URL(address, page);
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined && item !== null) url.searchParams.append(name, String(item));
    }
  }
  return url.href;
}

function bodyOf({ body, form }: AnyInput): string | Blob | FormData | null {
  if (form === undefined) return body === undefined ? null : body instanceof Blob ? body : JSON.stringify(body);
  const data = new FormData();
  for (const [name, value] of Object.entries(form)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item instanceof Blob) data.append(name, item);
      else if (item !== undefined && item !== null) data.append(name, String(item));
    }
  }
  return data;
}

async function resultOf(response: Response, jsonEvents: boolean): Promise<unknown> {
  const type = response.headers.get("Content-Type") ?? "";
  if (response.body === null || response.status === 204 || response.status === 205) return undefined;
  if (/^text\/event-stream\b/i.test(type)) return eventsOf(response.body, jsonEvents);
  if (isJson(type)) return response.json();
  if (/^text\//i.test(type)) return response.text();
  const blob = await response.blob();
  return type === "" && blob.size === 0 ? undefined : blob;
}

async function errorBody(response: Response): Promise<unknown> {
  const text = await response.text();
  return isJson(response.headers.get("Content-Type") ?? "") ? valueOf(text) : text;
}

/** The value of JSON; other text as it is. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function isJson(type: string): boolean {
  return /^[^;]*[/+]json *(;|$)/i.test(type);
}

/** Reads an event stream as the HTML standard says. */
async function* eventsOf(body: ReadableStream<Uint8Array>, json: boolean): AsyncGenerator<ServerEvent<unknown>, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let [rest, data, event, id] = ["", "", "", ""];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      // A CR at the end may be half of a line break.
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const [, name, text = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
        if (name === "data") data += text + "\n";
        else if (name === "event") event = text;
        else if (name === "id" && !text.includes("\0")) id = text;
        if (line !== "") continue;
        const whole = data.slice(0, -1);
        if (data !== "") yield { data: json ? valueOf(whole) : whole, event: event || "message", id };
        [data, event] = ["", ""];
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Milliseconds: as the server asks, otherwise longer each time and not the same for all clients. */
function pauseOf(retryAfter: string, sent: number): number {
  const asked = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isNaN(asked) ? Math.min(10_000, 100 * 2 ** sent) * (0.5 + Math.random() / 2) : Math.max(0, asked);
}

function waitFor(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
`;
