import { HttpError, httpError } from "../../errors/http-error.js";
import type { Host } from "../../feature/host.js";
import { requireJsonType } from "../../http/json/json.js";
import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import type { SseEvent } from "../../http/sse.js";
import type { Bus, BusMessage } from "./bus.js";
import type { McpConfig } from "./config.js";
import { Exchange, rpcResponse } from "./exchange.js";
import type { Methods } from "./methods.js";
import {
  errorText,
  isVersion,
  RpcError,
  type RpcMessage,
  type RpcRequest,
  readMessage,
  type Version,
} from "./protocol.js";
import { keyOf, type McpSession, type McpSessions, userOf } from "./sessions.js";
import type { Streams } from "./streams.js";

export interface ServerParts {
  readonly host: Host;
  readonly config: McpConfig;
  readonly methods: Methods;
  readonly sessions: McpSessions;
  readonly streams: Streams;
  readonly bus: Bus;
}

/** Messages of one batch. */
const maxBatch = 100;
/** A client that has come back asks all workers for its exchange: the number of these requests without a reply. */
const maxUnanswered = 3;
/** Milliseconds between two of them. */
const longestPause = 10_000;

/** The endpoint: the protocol over streamable HTTP. */
export class McpServer {
  readonly #exchanges = new Map<string, Exchange>();

  constructor(private readonly parts: ServerParts) {}

  /** Messages of a client. */
  async post(request: Request): Promise<Response> {
    this.#checkOrigin(request);
    requireJsonType(request.source);
    try {
      return await this.#answer(request);
    } catch (error) {
      if (error instanceof RpcError) return rpcResponse(errorText(null, error), error);
      throw error;
    }
  }

  /** A stream of messages to a client: notifications, or the rest of an exchange whose connection has ended. */
  async get(request: Request): Promise<Response> {
    this.#checkOrigin(request);
    if (request.method !== "GET") throw httpError("METHOD_NOT_ALLOWED");
    if (!accepts(request, "text/event-stream")) throw httpError("NOT_ACCEPTABLE");
    return this.#withSession(request, (session) => {
      request.endWithAuthority();
      const last = /^([0-9a-f-]{36})\.(\d{1,9})$/.exec(request.source.header("last-event-id") ?? "");
      if (last === null) return this.parts.streams.respond(request, session);
      return Response.sse((signal) => this.#resumed(session, last[1]!, Number(last[2]), signal));
    });
  }

  /** Ends a session. */
  async delete(request: Request): Promise<Response> {
    this.#checkOrigin(request);
    return this.#withSession(request, async (session) => {
      await this.parts.sessions.end(session);
      this.parts.streams.end(session);
      return new Response(null, 204);
    });
  }

  /** A message of this worker or of another. */
  hear(message: BusMessage): void {
    if (message.kind === "back") {
      const exchange = this.#exchanges.get(message.exchange);
      if (exchange?.session && keyOf(exchange.session.id) === message.session) exchange.resumed(message.after);
    } else if (message.kind === "reply") this.parts.methods.reply(message.session, message.reply);
    else if (message.kind === "cancel") this.parts.methods.cancel(message.call);
    else this.parts.streams.hear(message);
  }

  async #answer(request: Request): Promise<Response> {
    const version = versionOf(request);
    const value = parsed(request);
    const session = await this.#session(request);
    const isBatch = Array.isArray(value);
    if (isBatch && (session?.data.version ?? version) !== "2025-03-26") {
      throw new RpcError("invalidRequest", "batches are no part of this version of the protocol", 400);
    }
    const list: readonly unknown[] = isBatch ? value : [value];
    if (list.length === 0 || list.length > maxBatch) {
      throw new RpcError("invalidRequest", `a batch has 1 to ${maxBatch} messages`, 400);
    }
    const messages = list.map(readMessage);
    const calls = messages.filter((message) => message.kind === "request");
    const first = calls.find(({ method }) => method === "initialize");
    if (first !== undefined) {
      if (messages.length > 1) throw new RpcError("invalidRequest", "initialize stands alone", 400);
      return this.parts.methods.initialize(first, userOf(request));
    }
    for (const message of messages) if (message.kind !== "request") this.#take(message, session);
    if (calls.length === 0) return new Response(null, 202);
    return this.#run(request, session, calls, isBatch);
  }

  #run(
    request: Request,
    session: McpSession | null,
    calls: readonly RpcRequest[],
    isBatch: boolean,
  ): Promise<Response> {
    const { methods, config, bus } = this.parts;
    const exchange: Exchange = new Exchange({
      session,
      calls: calls.length,
      isBatch,
      canStream: accepts(request, "text/event-stream"),
      resumeMs: config.resumeSecs * 1000,
      relay: (message) => bus.relay(keyOf(session!.id), exchange.id, message),
      abandon: () => methods.abandon(exchange),
      done: () => this.#exchanges.delete(exchange.id),
    });
    this.#exchanges.set(exchange.id, exchange);
    request.onAbort(() => exchange.detach());
    for (const call of calls) void methods.run(request, exchange, call);
    return exchange.response;
  }

  #take(message: Exclude<RpcMessage, RpcRequest>, session: McpSession | null): void {
    // Without a session nothing says whose request is meant.
    if (session === null) return;
    const { methods, bus } = this.parts;
    const key = keyOf(session.id);
    if (message.kind === "reply") {
      if (!methods.reply(key, message)) bus.tell({ kind: "reply", session: key, reply: message });
    } else if (message.method === "notifications/cancelled") {
      const call = `${key} ${JSON.stringify(message.params["requestId"])}`;
      if (!methods.cancel(call)) bus.tell({ kind: "cancel", call });
    }
  }

  async #withSession(
    request: Request,
    respond: (session: McpSession) => Response | Promise<Response>,
  ): Promise<Response> {
    try {
      versionOf(request);
      const session = await this.#session(request);
      if (session === null) throw new RpcError("invalidRequest", "Mcp-Session-Id is required here", 400);
      return await respond(session);
    } catch (error) {
      if (error instanceof RpcError) return rpcResponse(errorText(null, error), error);
      throw error;
    }
  }

  /** Null if the request names no session. */
  async #session(request: Request): Promise<McpSession | null> {
    const id = request.source.header("mcp-session-id");
    if (id === undefined) return null;
    const session = await this.parts.sessions.find(id, userOf(request));
    if (session === null) throw new RpcError("refused", "there is no such session: begin one with initialize", 404);
    return session;
  }

  /** The rest of an exchange. It ends with the last message, or when no worker says any more that it has the exchange. */
  async *#resumed(session: McpSession, exchange: string, after: number, signal: AbortSignal): AsyncGenerator<SseEvent> {
    const { bus, config } = this.parts;
    const key = keyOf(session.id);
    const gone = new AbortController();
    let [last, unanswered] = [after, 0];
    const ask = (): void => {
      if (unanswered++ === maxUnanswered) gone.abort();
      else bus.tell({ kind: "back", session: key, exchange, after: last });
    };
    const messages = await bus.relayed(key, exchange, AbortSignal.any([signal, gone.signal]));
    const every = Math.min((config.resumeSecs * 1000) / maxUnanswered, longestPause);
    const asking = setInterval(ask, every).unref();
    ask();
    try {
      for await (const { number, text, isLast } of messages) {
        unanswered = 0;
        if (number > last) {
          last = number;
          if (text !== "") yield { id: `${exchange}.${number}`, data: text };
        }
        if (isLast) return;
      }
    } finally {
      clearInterval(asking);
    }
  }

  /**
   * Refuses web pages of other sites, those whose name leads to this machine (DNS rebinding) included: so the origin that a
   * browser sends must be listed, or both it and the host must be names of this machine.
   */
  #checkOrigin({ source }: Request): void {
    const origin = source.header("origin");
    if (origin === undefined || this.parts.config.origins.includes(origin)) return;
    if (!isLocal(origin) || !isLocal(`http://${source.header("host") ?? ""}`)) throw httpError("ORIGIN_NOT_ALLOWED");
  }
}

/** A request without the field is one of the first version that has streamable HTTP. */
function versionOf({ source }: Request): Version {
  const given = source.header("mcp-protocol-version") ?? "2025-03-26";
  if (isVersion(given)) return given;
  throw new RpcError("invalidRequest", "this version of the protocol is not supported", 400);
}

function parsed(request: Request): unknown {
  try {
    return request.json();
  } catch (error) {
    if (error instanceof HttpError && error.status === 400) throw new RpcError("parse", error.message, 400);
    throw error;
  }
}

function accepts({ source }: Request, type: string): boolean {
  const accept = source.header("accept") ?? "";
  return accept.includes(type) || accept.includes("*/*");
}

function isLocal(origin: string): boolean {
  return URL.canParse(origin) && ["localhost", "127.0.0.1", "[::1]"].includes(new URL(origin).hostname);
}
