import { AsyncResource } from "node:async_hooks";
import type { Duplex } from "node:stream";
import { describeError, isInstance } from "../errors/describe.js";
import { HttpError, httpError } from "../errors/http-error.js";
import { AuthorityEndedError } from "../http/authority.js";
import type { Request } from "../http/request.js";
import { Response } from "../http/response.js";
import type { DirectSocket, UpgradeCallback } from "../http/source.js";
import { Pace } from "../kit/time/pace.js";
import { WebSocketClosedError } from "./closed-error.js";
import { FrameSocket } from "./frame-socket.js";
import { checkHandshake } from "./handshake.js";
import { type SocketOptions, type SocketSettings, socketSettings } from "./options.js";
import type { WebSocketRegistry } from "./registry.js";
import { WebSocket } from "./socket.js";
import { loadWs, patientSocketOf, type RawServer, type RawSocket, type UpgradeRequest, type WsModule } from "./ws.js";

/** The handler of a WebSocket route. The socket is closed when it returns. */
export type SocketHandler = (socket: WebSocket, injected: Record<string, unknown>) => unknown;

/**
 * The innermost part of a WebSocket route. It responds with 101, so middleware and guards have run by then. The handler
 * gets the connection when the transport has released it.
 */
export function websocketEndpoint(
  handler: (...args: never[]) => unknown,
  options: SocketOptions,
  registry: WebSocketRegistry,
): (request: Request, injected: Record<string, unknown>) => Promise<Response> {
  const settings = socketSettings(options);
  let server: RawServer | null = null;
  const pace = new Pace();
  return async (request, injected) => {
    const headers = checkHandshake(request, settings);
    const isHttp2 = request.source.httpVersion === "2";
    const opener = (server ??= createServer(await loadWs(), settings));
    if (registry.draining) throw httpError("SERVICE_UNAVAILABLE");
    const response = new Response(null);
    response.status = 101;
    // Middleware must add its fields to this object, not to a copy.
    response.given = true;
    const protocol = headers["sec-websocket-protocol"] ?? "";
    // In HTTP/1.1 it is a part of the handshake.
    if (isHttp2 && protocol !== "") response.header("Sec-WebSocket-Protocol", protocol);
    const begin = (raw: RawSocket, duplex: Duplex | null, waits: (bytes: number) => void): WebSocket => {
      const socket = new WebSocket(raw, duplex, settings.limits, request, waits);
      if (settings.limits.messageRate !== undefined) socket.onFlood = () => reportFlood(request, pace);
      registry.add(socket, run(handler as SocketHandler, socket, injected, registry));
      return socket;
    };
    const upgradeOf = (): UpgradeRequest => ({ method: "GET", headers, fieldLines: fieldLinesOf(response) });
    // The transport calls these outside of the request's asynchronous context.
    const upgrade: UpgradeCallback = AsyncResource.bind((duplex: Duplex, head: Buffer, waits) => {
      const raw = open(opener, upgradeOf(), duplex, head);
      if (raw === null) {
        request.abort(new WebSocketClosedError("the client left"));
        request.finish();
        return;
      }
      const socket = begin(raw, duplex, waits);
      // A long message on a slow line is a sign of life before it is complete.
      duplex.on("data", () => socket.heard());
    });
    if (headers["sec-websocket-extensions"] === undefined) {
      upgrade.direct = AsyncResource.bind((direct: DirectSocket, waits) => {
        const raw = new FrameSocket(direct, protocol, settings);
        if (!isHttp2) raw.accept(upgradeOf());
        const socket = begin(raw, null, waits);
        raw.on("data", () => socket.heard());
        return raw;
      });
    }
    response.upgrade = upgrade;
    return response;
  };
}

function createServer(ws: WsModule, settings: SocketSettings): RawServer {
  const server = new ws.WebSocketServer({
    WebSocket: patientSocketOf(ws),
    noServer: true,
    clientTracking: false,
    autoPong: false,
    maxPayload: settings.limits.maxMessageSize,
    closeTimeout: settings.closeTimeout,
    perMessageDeflate: settings.compression && deflateOptions,
  });
  server.on("headers", (lines, request) => lines.push(...request.fieldLines));
  return server;
}

/** No window is kept between messages: it would cost some hundred kilobytes per socket. */
const deflateOptions = {
  serverNoContextTakeover: true,
  clientNoContextTakeover: true,
  threshold: 1024,
  concurrencyLimit: 10,
  zlibDeflateOptions: { memLevel: 7, level: 3 },
  zlibInflateOptions: { chunkSize: 10 * 1024 },
};

/** The handshake; null when the client has disconnected, or `ws` refused what it wants of an extension. */
function open(server: RawServer, request: UpgradeRequest, duplex: Duplex, head: Buffer): RawSocket | null {
  let raw: RawSocket | null = null;
  server.handleUpgrade(request, duplex, head, (opened) => {
    raw = opened;
  });
  return raw;
}

const ofTheHandshake = /^(?:connection|upgrade|content-length|transfer-encoding|sec-websocket-.*)$/i;

/** The header fields that middleware added to the response, such as cookies and the request id. */
function fieldLinesOf(response: Response): string[] {
  const fields = response.fields ?? [];
  const lines: string[] = [];
  for (let i = 0; i < fields.length; i += 2) {
    if (!ofTheHandshake.test(fields[i]!)) lines.push(`${fields[i]}: ${fields[i + 1]}`);
  }
  return lines;
}

/** From the opening to the end of both the connection and the handler. Never rejects. */
async function run(
  handler: SocketHandler,
  socket: WebSocket,
  injected: Record<string, unknown>,
  registry: WebSocketRegistry,
): Promise<void> {
  const { request } = socket;
  void socket.closed.then(({ code }) => request.abort(new WebSocketClosedError(`the WebSocket was closed (${code})`)));
  request.onAbort((reason) => {
    if (reason instanceof AuthorityEndedError) void socket.close(socket.endedCode, reason.message);
  });
  request.endWithAuthority();
  try {
    await handler(socket, injected);
    await socket.close();
  } catch (error) {
    const code = closeCodeFor(socket, error);
    if (code === 1011) request.host?.logger.error(`${request.method} ${request.path} failed`, { error });
    await socket.close(code, registry.debug ? describeError(error).name.slice(0, 40) : "");
  }
  request.finish();
}

/** Clients decide how many there are: the log is paced. */
function reportFlood(request: Request, pace: Pace): void {
  const more = pace.next();
  if (more === null) return;
  const fields = { path: request.path, client: request.ip, ...more };
  request.host?.logger.warn("a WebSocket was closed: the client sent more messages than messageRate allows", fields);
}

/** The close code for an error: wrong data, not allowed, or an internal error without details. */
function closeCodeFor(socket: WebSocket, error: unknown): number {
  if (!socket.isOpen && isBecauseClosed(socket, error)) return 1000;
  if (!isInstance(error, HttpError) || error.status >= 500) return 1011;
  return error.status === 400 || error.status === 422 ? 1007 : 1008;
}

/** True if the error only says that the socket closed: a send failed, or `socket.signal` was aborted. */
function isBecauseClosed(socket: WebSocket, error: unknown): boolean {
  if (isInstance(error, WebSocketClosedError)) return true;
  return socket.request.aborted && describeError(error).name === "AbortError";
}
