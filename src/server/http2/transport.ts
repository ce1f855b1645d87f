import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import { BaseTransport } from "../base-transport.js";
import { type Deadlines, deadlinesOf } from "../http1/deadlines.js";
import { createNetTransport } from "../http1/transport.js";
import { SocketServer } from "../socket-server.js";
import type { Dispatch, Transport, TransportFactory, TransportOptions } from "../transport.js";
import type { Http2Abuse } from "./abuse.js";
import { type ConnectionHost, Http2Connection } from "./connection.js";
import { defaultHttp2, type Http2Fields } from "./fields.js";
import { sniff } from "./sniff.js";
import type { Http2StreamHandlers } from "./streams.js";

/** HTTP/2 on node:http2, and our own HTTP/1.1 on the same port: chosen by ALPN with TLS, by the first bytes without. */
export const createHttp2Transport: TransportFactory = (dispatch, options) => new Http2Transport(dispatch, options);

class Http2Transport extends BaseTransport implements Transport, ConnectionHost {
  readonly deadlines: Deadlines;
  readonly fields: Http2Fields;
  readonly handlers: Http2StreamHandlers | null;
  /** Serves the connections that speak HTTP/1.1. */
  readonly #http1: Transport;
  /** Makes sessions of connections; never listens itself. */
  readonly #sessions: Http2Server;
  readonly #open = new Set<Http2Connection>();
  /** Connections whose protocol is not known yet, and the tick of their beginning. */
  readonly #unknown = new Map<Duplex, number>();
  protected readonly listener: SocketServer;
  #lastTick = performance.now();

  constructor(dispatch: Dispatch, options: TransportOptions) {
    super(dispatch, options);
    this.fields = options.http2 ?? defaultHttp2;
    this.handlers = options.http2Streams ?? null;
    this.deadlines = deadlinesOf(this.clock, options);
    this.listener = new SocketServer(
      options,
      ["h2", "http/1.1"],
      (socket) => this.accept(socket),
      () => this.checkEmpty(),
    );
    this.#http1 = createNetTransport(dispatch, { ...options, outer: this });
    this.#sessions = createHttp2Server(sessionOptions(options, this.fields));
  }

  get connections(): number {
    return this.#http1.connections + this.#open.size + this.#unknown.size;
  }

  protected get isEmpty(): boolean {
    return this.#unknown.size === 0 && this.#open.size === 0;
  }

  accept(socket: Duplex): void {
    if (this.isFull()) {
      socket.on("error", ignore);
      socket.destroy();
      return;
    }
    this.clock.start();
    const { encrypted, alpnProtocol } = socket as Partial<TLSSocket>;
    if (encrypted !== true) this.#sniff(socket);
    else if (alpnProtocol === "h2") this.#acceptHttp2(socket);
    else this.#http1.accept(socket);
  }

  override async drain(replaced = false): Promise<void> {
    const drained = super.drain(replaced);
    void this.#http1.drain(replaced);
    await drained;
    // Once more: a connection that was accepted just now may have turned out to speak HTTP/1.1.
    await this.#http1.drain(replaced);
  }

  protected endIdle(all: boolean): void {
    for (const connection of this.#open) connection.drain(all);
    for (const [socket, since] of this.#unknown) if (all || !this.clock.isNew(since)) socket.destroy();
  }

  protected endAll(): void {
    this.#http1.destroy();
    for (const connection of this.#open) connection.destroy();
    for (const socket of this.#unknown.keys()) socket.destroy();
  }

  abused(reason: Http2Abuse): void {
    this.limits.onAbuse?.(reason);
  }

  left(connection: Http2Connection): void {
    this.#open.delete(connection);
    this.unread.set(connection, 0);
    this.checkEmpty();
  }

  #sniff(socket: Duplex): void {
    this.#unknown.set(socket, this.clock.tick);
    socket.on("error", ignore);
    const forget = (): void => {
      this.#unknown.delete(socket);
      this.checkEmpty();
    };
    socket.on("close", forget);
    const decided = (isHttp2: boolean): void => {
      if (isHttp2 && this.unread.delays(() => decided(true))) return;
      socket.off("close", forget);
      if (isHttp2) this.#acceptHttp2(socket);
      else this.#http1.accept(socket);
      forget();
    };
    sniff(socket, decided);
  }

  #acceptHttp2(socket: Duplex): void {
    // A socket that is closed has no handle, which Node would not forgive.
    if (socket.destroyed) return;
    // A client that has ended its side can open no window and cancel nothing: it has left.
    socket.allowHalfOpen = false;
    const opened = (session: ServerHttp2Session): void => {
      this.#open.add(new Http2Connection(this, session, socket));
    };
    this.#sessions.once("session", opened);
    try {
      this.#sessions.emit("connection", socket);
    } catch (error) {
      this.report(error);
      socket.destroy();
    } finally {
      this.#sessions.off("session", opened);
    }
  }

  protected sweep(): void {
    const now = performance.now();
    // Time in which the event loop was blocked gives nothing back.
    const seconds = Math.min(1, (now - this.#lastTick) / 1000);
    this.#lastTick = now;
    for (const [socket, since] of this.#unknown) {
      if (this.clock.tick - since > this.deadlines.head) socket.destroy();
    }
    for (const connection of this.#open) {
      try {
        connection.checkDeadlines(seconds);
      } catch (error) {
        this.report(error);
        connection.destroy();
      }
    }
  }
}

function sessionOptions(options: TransportOptions, fields: Http2Fields) {
  return {
    // Beyond our own limits, which give 431: what goes beyond these is refused without a response.
    maxHeaderListPairs: 2 * options.maxHeaders + 8,
    maxSessionMemory: fields.maxSessionMemory,
    maxSessionInvalidFrames: fields.maxInvalidFrames,
    maxSessionRejectedStreams: fields.maxResets,
    // From Node.js 22.17 on: otherwise fields with white space around their value are dropped, and we reset such requests.
    strictFieldWhitespaceValidation: false,
    settings: {
      enablePush: false,
      enableConnectProtocol: true,
      maxConcurrentStreams: fields.maxConcurrentStreams,
      initialWindowSize: fields.streamWindow,
      maxHeaderListSize: 2 * options.maxHeadSize,
    },
  };
}

function ignore(): void {}
