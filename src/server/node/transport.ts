import { createServer, type Server } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type HttpError, httpError } from "../../errors/http-error.js";
import { requestMethods } from "../../http/methods.js";
import { BaseTransport } from "../base-transport.js";
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

class NodeTransport extends BaseTransport implements Transport, ExchangeOwner, UpgradeOwner {
  readonly heads = new PreparedHeads();
  readonly fieldLines = new FieldLines();
  protected readonly listener: SocketServer;
  readonly #server: Server;
  /** With the tick at which it was accepted. */
  readonly #open = new Map<Duplex, number>();
  readonly #upgraded = new Set<Duplex>();
  readonly #exchanges = new Map<Duplex, Set<NodeExchange>>();
  /** Sockets with a last request of an unknown method. Nothing more is read from them. */
  readonly #unread = new WeakSet<Duplex>();

  constructor(dispatch: Dispatch, options: TransportOptions) {
    super(dispatch, options);
    this.listener = new SocketServer(
      options,
      ["http/1.1"],
      (socket) => this.accept(socket),
      () => this.checkEmpty(),
    );
    this.#server = this.#createServer();
  }

  get connections(): number {
    return this.#open.size + this.#upgraded.size;
  }

  protected get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  override listen(address: ListenAddress): Promise<ListenAddress> {
    // With this event node:http begins to look after the times of its connections.
    this.#server.emit("listening");
    return super.listen(address);
  }

  accept(socket: Duplex): void {
    const isFull = this.isFull();
    this.#open.set(socket, this.clock.tick);
    socket.on("error", ignore);
    socket.on("close", () => {
      this.#open.delete(socket);
      this.checkEmpty();
    });
    // Node's way to hand a connection to an http.Server.
    this.#server.emit("connection", socket);
    if (isFull) socket.destroy();
    this.clock.start();
  }

  override async drain(replaced = false): Promise<void> {
    await super.drain(replaced);
    this.#server.close();
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
    this.checkEmpty();
  }

  #createServer(): Server {
    const { headTimeout, keepAliveTimeout, maxHeadSize } = this.limits;
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
    server.on("request", createRequestListener(this, this.limits));
    server.on("checkContinue", createRequestListener(this, this.limits, true));
    server.on("checkExpectation", (message, response) => {
      if (hasEnded(message.socket)) return;
      new NodeExchange(this, message, response, false).refuse(httpError("EXPECTATION_FAILED"));
    });
    server.on("upgrade", createUpgradeListener(this, this.limits));
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
    const parser = new HeadParser(this.limits);
    const end = parser.parse(bytes, 0, bytes.length);
    if (end <= 0 || requestMethods.includes(parser.method)) return false;
    // Else the packet begins with something else: the rest of a body.
    if (bytesParsed > parser.method.length + 1) return false;
    const peer = { remoteAddress: socket.remoteAddress ?? "", secure: this.limits.tls !== null, socket };
    this.#unread.add(socket);
    const exchange = new RawExchange(this, parser, socket, bytes.subarray(end));
    exchange.run(new NetRequestSource(peer, parser, bytes, end, false));
    return true;
  }

  #refuseConnection(socket: Duplex, error: HttpError): void {
    if (refuseConnection(socket, error)) this.refused(error);
  }

  protected sweep(): void {
    const { bodyTimeout, bodyTotalTimeout, writeTimeout } = this.limits;
    const body = this.clock.ticksFor(bodyTimeout);
    const bodyTotal = this.clock.ticksFor(bodyTotalTimeout);
    const write = this.clock.ticksFor(writeTimeout);
    for (const exchanges of this.#exchanges.values()) {
      for (const exchange of exchanges) exchange.checkDeadlines(body, bodyTotal, write);
    }
  }

  protected endIdle(all: boolean): void {
    for (const [socket, since] of this.#open) {
      const mayBegin = !all && (socket as Partial<Socket>).bytesRead === 0 && this.clock.isNew(since);
      if (this.#exchanges.has(socket) || mayBegin) continue;
      // The rest of a response may still have to be written.
      if (socket instanceof Socket && socket.writableLength > 0) socket.destroySoon();
      else socket.destroy();
    }
  }

  protected endAll(): void {
    this.#server.close();
    for (const socket of [...this.#open.keys(), ...this.#upgraded]) socket.destroy();
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
