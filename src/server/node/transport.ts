import { createServer, type Server } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type HttpError, httpError } from "../../errors/http-error.js";
import { requestMethods } from "../../http/methods.js";
import { BodyMemory } from "../body/body-memory.js";
import { UnreadResponses } from "../body/unread-responses.js";
import { Clock, firstRequestGrace } from "../clock.js";
import { HeadParser } from "../http1/head.js";
import { FieldLines, PreparedHeads } from "../http1/response-head.js";
import { NetRequestSource } from "../http1/source.js";
import { SocketServer } from "../socket-server.js";
import type { Dispatch, ListenAddress, Transport, TransportFactory, TransportOptions } from "../transport.js";
import { errorOf, refuseConnection } from "./client-error.js";
import { type ExchangeOwner, hasEnded, NodeExchange } from "./exchange.js";
import { createRequestListener, createUpgradeListener, RawExchange, type UpgradeOwner } from "./listener.js";

export { createNodeListener, createNodeUpgradeListener } from "./mount.js";

/** The server on node:http: slower than our own, for users of Node's parser or of instruments made for it. */
export const createNodeTransport: TransportFactory = (dispatch, options) => new NodeTransport(dispatch, options);

class NodeTransport implements Transport, ExchangeOwner, UpgradeOwner {
  readonly dispatch: Dispatch;
  readonly clock: Clock;
  readonly bodyMemory: BodyMemory;
  readonly unread: UnreadResponses;
  readonly heads = new PreparedHeads();
  readonly fieldLines = new FieldLines();
  draining = false;
  /** True once nothing more is accepted, not even a connection whose handshake was under way when draining began. */
  #closed = false;
  readonly #options: TransportOptions;
  readonly #sockets: SocketServer;
  readonly #server: Server;
  /** With the tick at which it was accepted. */
  readonly #open = new Map<Duplex, number>();
  readonly #upgraded = new Set<Duplex>();
  readonly #exchanges = new Map<Duplex, Set<NodeExchange>>();
  /** Sockets with a last request of an unknown method. Nothing more is read from them. */
  readonly #unread = new WeakSet<Duplex>();
  readonly #whenEmpty: (() => void)[] = [];

  constructor(dispatch: Dispatch, options: TransportOptions) {
    this.dispatch = dispatch;
    this.#options = options;
    this.bodyMemory = new BodyMemory(options.maxBodyMemory);
    this.unread = new UnreadResponses(options.maxUnreadMemory, options.onAbuse);
    this.clock = new Clock(options, () => this.#sweep());
    this.#sockets = new SocketServer(
      options,
      ["http/1.1"],
      (socket) => this.accept(socket),
      () => this.#checkEmpty(),
    );
    this.#server = this.#createServer();
  }

  get connections(): number {
    return this.#open.size + this.#upgraded.size;
  }

  listen(address: ListenAddress): Promise<ListenAddress> {
    // With this event node:http begins to look after the times of its connections.
    this.#server.emit("listening");
    return this.#sockets.listen(address);
  }

  accept(socket: Duplex): void {
    const { maxConnections } = this.#options;
    this.#open.set(socket, this.clock.tick);
    socket.on("error", ignore);
    socket.on("close", () => {
      this.#open.delete(socket);
      this.#checkEmpty();
    });
    // Node's way to hand a connection to an http.Server.
    this.#server.emit("connection", socket);
    if (this.#closed || (maxConnections > 0 && this.connections > maxConnections)) socket.destroy();
    this.clock.start();
  }

  drain(): Promise<void> {
    this.draining = true;
    this.#sockets.close();
    this.#closeIdle((socket, since) => (socket as Partial<Socket>).bytesRead !== 0 || !this.clock.isNew(since));
    const rest = setTimeout(() => {
      this.#closed = true;
      this.#closeIdle(() => true);
      this.#checkEmpty();
    }, firstRequestGrace);
    rest.unref();
    return new Promise((resolve) => {
      this.#whenEmpty.push(resolve);
      this.#checkEmpty();
    });
  }

  destroy(): void {
    this.draining = true;
    this.#closed = true;
    this.#sockets.destroy();
    this.#server.close();
    for (const socket of [...this.#open.keys(), ...this.#upgraded]) socket.destroy();
    this.clock.stop();
  }

  report(error: unknown): void {
    this.#options.onError?.(error);
  }

  refused(error: HttpError): void {
    this.#options.onRefusal?.(error);
  }

  began(exchange: NodeExchange): void {
    const socket = exchange.message.socket;
    const others = this.#exchanges.get(socket);
    if (others) others.add(exchange);
    else this.#exchanges.set(socket, new Set([exchange]));
  }

  over(exchange: NodeExchange): void {
    const socket = exchange.message.socket;
    const others = this.#exchanges.get(socket);
    others?.delete(exchange);
    if (others?.size === 0) this.#exchanges.delete(socket);
  }

  upgraded(socket: Duplex): void {
    if (!this.#open.delete(socket)) return;
    this.#upgraded.add(socket);
    socket.on("close", () => this.#upgraded.delete(socket));
    this.#checkEmpty();
  }

  #createServer(): Server {
    const { headTimeout, keepAliveTimeout, maxHeadSize } = this.#options;
    const server = createServer({
      headersTimeout: headTimeout * 1000,
      // Bodies have a limit on silence instead, looked at in the sweep.
      requestTimeout: 0,
      keepAliveTimeout: keepAliveTimeout * 1000,
      connectionsCheckingInterval: Math.min(1000, headTimeout * 250),
      maxHeaderSize: maxHeadSize,
      // Checked by us, so that the refusal looks like any other.
      requireHostHeader: false,
    });
    // Node drops fields beyond this count silently, so the count is disabled.
    server.maxHeadersCount = 0;
    server.timeout = 0;
    server.on("request", createRequestListener(this, this.#options));
    server.on("checkContinue", createRequestListener(this, this.#options, true));
    server.on("checkExpectation", (message, response) => {
      if (hasEnded(message.socket)) return;
      new NodeExchange(this, message, response, false).refuse(httpError("EXPECTATION_FAILED"));
    });
    server.on("upgrade", createUpgradeListener(this, this.#options));
    server.on("connect", (_message, socket: Duplex) => this.#refuseConnection(socket, httpError("NOT_IMPLEMENTED")));
    server.on("clientError", (error: Error & { code?: string }, socket) => this.#clientError(error, socket));
    return server;
  }

  #clientError(error: ParseError, socket: Duplex): void {
    const exchanges = this.#exchanges.get(socket);
    if (!exchanges) {
      if (error.code === "HPE_INVALID_METHOD" && this.#runUnknownMethod(error, socket as Socket)) return;
      this.#refuseConnection(socket, errorOf(error));
      return;
    }
    // The bad bytes stand behind, or in the body of, a request that still waits for its response.
    const last = [...exchanges].at(-1)!;
    if (last.receiving) last.bodyBroken(errorOf(error));
    else last.makeLast();
  }

  /**
   * Lets the application respond to a method that the parser of node:http does not know: 405 where the path has others.
   * False if the bytes are no whole request of that kind.
   */
  #runUnknownMethod({ rawPacket: bytes, bytesParsed = Number.POSITIVE_INFINITY }: ParseError, socket: Socket): boolean {
    // node:http reports an error for each further chunk.
    if (this.#unread.has(socket)) return true;
    if (bytes === undefined || !socket.writable) return false;
    const parser = new HeadParser(this.#options);
    const end = parser.parse(bytes, 0, bytes.length);
    if (end <= 0 || requestMethods.includes(parser.method)) return false;
    // Else the packet begins with something else: the rest of a body.
    if (bytesParsed > parser.method.length + 1) return false;
    const peer = { remoteAddress: socket.remoteAddress ?? "", secure: this.#options.tls !== null, socket };
    this.#unread.add(socket);
    const exchange = new RawExchange(this, parser, socket, bytes.subarray(end));
    exchange.run(new NetRequestSource(peer, parser, bytes, end, false));
    return true;
  }

  #refuseConnection(socket: Duplex, error: HttpError): void {
    if (refuseConnection(socket, error)) this.refused(error);
  }

  #sweep(): void {
    const { bodyTimeout, bodyTotalTimeout, writeTimeout } = this.#options;
    const body = this.clock.ticksFor(bodyTimeout);
    const bodyTotal = this.clock.ticksFor(bodyTotalTimeout);
    const write = this.clock.ticksFor(writeTimeout);
    for (const exchanges of this.#exchanges.values()) {
      for (const exchange of exchanges) exchange.checkDeadlines(body, bodyTotal, write);
    }
  }

  #closeIdle(condition: (socket: Duplex, since: number) => boolean): void {
    for (const [socket, since] of this.#open) {
      if (this.#exchanges.has(socket) || !condition(socket, since)) continue;
      // The rest of a response may still have to be written.
      if (socket instanceof Socket && socket.writableLength > 0) socket.destroySoon();
      else socket.destroy();
    }
  }

  #checkEmpty(): void {
    if (!this.draining || this.#open.size > 0 || (!this.#closed && this.#sockets.handshakes > 0)) return;
    this.#closed = true;
    this.#server.close();
    this.clock.stop();
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }
}

/** An error of the parser of node:http. */
interface ParseError extends Error {
  readonly code?: string;
  readonly rawPacket?: Buffer;
  /** The place of the error in the packet. */
  readonly bytesParsed?: number;
}

function ignore(): void {}
