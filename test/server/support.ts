import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe } from "vitest";
import { HttpError, httpError } from "../../src/errors/http-error.js";
import { problemResponse } from "../../src/errors/pages/problem.js";
import type { Request } from "../../src/http/request.js";
import { Response } from "../../src/http/response.js";
import { packageFolder } from "../../src/kit/package-folder.js";
import { createNetTransport } from "../../src/server/http1/transport.js";
import { createHttp2Transport } from "../../src/server/http2/transport.js";
import { defaultLimits } from "../../src/server/limits.js";
import { findAddon } from "../../src/server/native/addon.js";
import { nativeTransport } from "../../src/server/native/transport.js";
import { type Wire, wireOf } from "../../src/server/native/wire.js";
import { createNodeTransport } from "../../src/server/node/transport.js";
import type {
  Dispatch,
  ListenAddress,
  Transport,
  TransportFactory,
  TransportOptions,
} from "../../src/server/transport.js";
import { isLong } from "../support/long.js";

/** The engines of the native transport, each with its wire, or with the reason why it is not tested. */
const engines = (["epoll", "io_uring"] as const).map((engine) => {
  const wire = wireOf(findAddon(packageFolder()), engine);
  const missing = typeof wire === "string" ? wire : undefined;
  if (missing !== undefined) console.warn(`SKIPPED: the tests of the native transport with ${engine}; ${missing}`);
  return { engine, wire, missing };
});

/** Why the native transport is not tested; undefined if it is. */
export const withoutNative: string | undefined = engines[0]!.missing;

/** Runs tests with each engine of the native transport; `%s` in the title is its name. */
export function onEachEngine(
  title: string,
  tests: (factory: TransportFactory, engine: string, wire: Wire | string) => void,
  options: { readonly timeout?: number } = {},
): void {
  for (const { engine, wire, missing } of engines) {
    const factory = nativeTransport(() => wire);
    describe.skipIf(missing !== undefined)(title.replace("%s", engine), options, () => tests(factory, engine, wire));
  }
}

/**
 * The transports, each of which speaks HTTP/1.1. That of HTTP/2 does so on the same port, by the first bytes. The native one
 * is missing where its addon cannot be built; with io_uring, which differs below the calls of the addon only, `--all` adds it.
 */
export const transports: readonly (readonly ["net" | "node" | "http2" | "epoll" | "io_uring", TransportFactory])[] = [
  ["net", createNetTransport],
  ["node", createNodeTransport],
  ["http2", createHttp2Transport],
  ...engines
    .filter(({ engine, missing }) => missing === undefined && (isLong || engine === "epoll"))
    .map(({ engine, wire }) => [engine, nativeTransport(() => wire)] as const),
];

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** One server for all tests of a suite. */
export function startForAll(
  factory: TransportFactory,
  dispatch: Dispatch,
  options: Partial<TransportOptions> = {},
): () => Started {
  let started: Started;
  beforeAll(async () => {
    started = await start(factory, dispatch, options);
    cleanups.length = 0;
  });
  afterAll(() => started.transport.destroy());
  return () => started;
}

export interface Started {
  readonly transport: Transport;
  readonly address: ListenAddress;
  readonly errors: unknown[];
  /** The codes of requests that the transport refused. */
  readonly refusals: string[];
  /** Connects and sends. */
  client(bytes?: string | Uint8Array): Promise<Client>;
  /** Connects, sends, and reads until the server closes. */
  exchange(bytes: string | Uint8Array): Promise<string>;
}

export async function start(
  factory: TransportFactory,
  dispatch: Dispatch,
  options: Partial<TransportOptions> = {},
  listen: ListenAddress = { host: "127.0.0.1", port: 0 },
): Promise<Started> {
  const errors: unknown[] = [];
  const refusals: string[] = [];
  const transport = factory(dispatch, {
    ...defaultLimits,
    tls: null,
    onError: (error) => errors.push(error),
    onRefusal: (error) => refusals.push(error.code),
    ...options,
  });
  const address = await transport.listen(listen);
  cleanups.push(() => transport.destroy());
  const client = (bytes?: string | Uint8Array) => openClient(address, bytes);
  return { transport, address, errors, refusals, client, exchange: async (bytes) => (await client(bytes)).readToEnd() };
}

export async function openClient(address: ListenAddress, bytes?: string | Uint8Array): Promise<Client> {
  const socket = address.path === undefined ? connect(address.port, address.host) : connect(address.path);
  socket.setNoDelay?.(true);
  const client = new Client(socket);
  await once(socket, "connect");
  cleanups.push(() => socket.destroy());
  if (bytes !== undefined) client.send(bytes);
  return client;
}

/** A client that sees bytes. */
export class Client {
  readonly socket: Socket;
  text = "";
  closed = false;
  #changed: (() => void)[] = [];

  constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding("latin1");
    socket.on("data", (text: string) => {
      this.text += text;
      this.#notify();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      this.closed = true;
      this.#notify();
    });
    socket.on("end", () => {
      this.closed = true;
      this.#notify();
    });
  }

  send(bytes: string | Uint8Array): this {
    if (typeof bytes === "string") this.socket.write(bytes, "latin1");
    else this.socket.write(bytes);
    return this;
  }

  /** Waits until the predicate holds for the received text, or the connection is closed. */
  async until(predicate: (text: string) => boolean): Promise<string> {
    while (!predicate(this.text) && !this.closed) {
      await new Promise<void>((resolve) => this.#changed.push(resolve));
    }
    return this.text;
  }

  /** Waits for so many whole responses. */
  async responses(count: number, methods: readonly string[] = []): Promise<ClientResponse[]> {
    await this.until((text) => parseResponses(text, methods).length >= count);
    return parseResponses(this.text, methods);
  }

  readToEnd(): Promise<string> {
    return this.until(() => false);
  }

  #notify(): void {
    for (const resolve of this.#changed.splice(0)) resolve();
  }
}

export interface ClientResponse {
  readonly status: number;
  readonly head: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The whole responses at the beginning of the text; `methods` are those of the requests, where they matter (HEAD). */
export function parseResponses(text: string, methods: readonly string[] = []): ClientResponse[] {
  const responses: ClientResponse[] = [];
  let pos = 0;
  while (pos < text.length) {
    const headEnd = text.indexOf("\r\n\r\n", pos);
    if (headEnd === -1) break;
    const head = text.slice(pos, headEnd);
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(status)) throw new Error(`not a response: ${JSON.stringify(text.slice(pos, pos + 80))}`);
    pos = headEnd + 4;
    if (status === 100) continue;
    const headers = parseHeaders(head);
    const bodiless = methods[responses.length] === "HEAD" || status === 204 || status === 304;
    let body = "";
    if (bodiless) {
      // nothing follows the head
    } else if (headers["transfer-encoding"] === "chunked") {
      const decoded = decodeChunks(text, pos);
      if (!decoded) break;
      body = decoded.body;
      pos = decoded.end;
    } else if (headers["content-length"] !== undefined) {
      const length = Number(headers["content-length"]);
      if (text.length - pos < length) break;
      body = text.slice(pos, pos + length);
      pos += length;
    } else {
      body = text.slice(pos);
      pos = text.length;
    }
    responses.push({ status, head, headers, body });
  }
  return responses;
}

function parseHeaders(head: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const line of head.split("\r\n").slice(1)) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1).trim();
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return headers;
}

function decodeChunks(text: string, pos: number): { body: string; end: number } | null {
  let body = "";
  for (;;) {
    const lineEnd = text.indexOf("\r\n", pos);
    if (lineEnd === -1) return null;
    const size = Number.parseInt(text.slice(pos, lineEnd), 16);
    pos = lineEnd + 2;
    if (text.length < pos + size + 2) return null;
    if (size === 0) return { body, end: pos + 2 };
    body += text.slice(pos, pos + size);
    pos += size + 2;
  }
}

/**
 * Describes a request as the server saw it. The body is read first, as the pipeline does; its errors become responses.
 */
export const echo: Dispatch = async (request) => {
  try {
    const body = request.source.body;
    const bytes = body ? (body.received ?? (await body.read(10_000_000))) : null;
    return described(request, bytes);
  } catch (error) {
    return problemResponse(error instanceof HttpError ? error : httpError("INTERNAL_SERVER_ERROR"));
  }
};

function described(request: Request, bytes: Uint8Array | null): Response {
  return Response.json({
    method: request.method,
    target: request.target,
    headers: request.source.headerLines(),
    body: bytes === null ? null : Buffer.from(bytes).toString("latin1"),
  });
}

export const get = (path: string, more = ""): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`;

/** Lets everything that is ready to happen happen. */
export async function settle(milliseconds = 50): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
}
