import { createServer as createHttp2Server, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";
import type { HttpError } from "../../errors/http-error.js";
import { BodyMemory } from "../body/body-memory.js";
import { UnreadResponses } from "../body/unread-responses.js";
import { Clock, firstRequestGrace } from "../clock.js";
import { type Deadlines, deadlinesOf } from "../http1/deadlines.js";
import { createNetTransport } from "../http1/transport.js";
import { SocketServer } from "../socket-server.js";
import type { Dispatch, ListenAddress, Transport, TransportFactory, TransportOptions } from "../transport.js";
import type { Http2Abuse } from "./abuse.js";
import { type ConnectionHost, Http2Connection } from "./connection.js";
import { defaultHttp2, type Http2Fields } from "./fields.js";
import { sniff } from "./sniff.js";
import type { Http2StreamHandlers } from "./streams.js";

/** HTTP/2 on node:http2, and HTTP/1.1 of our own on the same port: chosen by ALPN with TLS, by the first bytes without. */
export const createHttp2Transport: TransportFactory = (dispatch, options) => new Http2Transport(dispatch, options);

class Http2Transport implements Transport, ConnectionHost {
  readonly dispatch: Dispatch;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly bodyMemory: BodyMemory;
  readonly unread: UnreadResponses;
  readonly limits: TransportOptions;
  readonly fields: Http2Fields;
  readonly handlers: Http2StreamHandlers | null;
  draining = false;
  /** True once nothing more is accepted, not even a connection whose handshake was under way when draining began. */
  #closed = false;
  /** Serves the connections that speak HTTP/1.1. */
  readonly #http1: Transport;
  /** Makes sessions of connections; never listens itself. */
  readonly #sessions: Http2Server;
  readonly #open = new Set<Http2Connection>();
  /** Connections whose protocol is not known yet, and the tick of their beginning. */
  readonly #unknown = new Map<Duplex, number>();
  readonly #sockets: SocketServer;
  #lastTick = performance.now();
  readonly #whenChanged: (() => void)[] = [];

  constructor(dispatch: Dispatch, options: TransportOptions) {
    this.dispatch = dispatch;
    this.limits = options;
    this.fields = options.http2 ?? defaultHttp2;
    this.handlers = options.http2Streams ?? null;
    this.bodyMemory = new BodyMemory(options.maxBodyMemory);
    this.unread = new UnreadResponses(options.maxUnreadMemory, options.onAbuse);
    this.clock = new Clock(options, () => this.#sweep());
    this.deadlines = deadlinesOf(this.clock, options);
    this.#sockets = new SocketServer(
      options,
      ["h2", "http/1.1"],
      (socket) => this.accept(socket),
      () => this.#changed(),
    );
    this.#http1 = createNetTransport(dispatch, { ...options, outer: this });
    this.#sessions = createHttp2Server(sessionOptions(options, this.fields));
  }

  get connections(): number {
    return this.#http1.connections + this.#open.size + this.#unknown.size;
  }

  listen(address: ListenAddress): Promise<ListenAddress> {
    return this.#sockets.listen(address);
  }

  accept(socket: Duplex): void {
    const { maxConnections } = this.limits;
    if (this.#closed || (maxConnections > 0 && this.connections >= maxConnections)) {
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

  async drain(): Promise<void> {
    this.draining = true;
    this.#sockets.close();
    for (const connection of this.#open) connection.drain(false);
    for (const [socket, since] of this.#unknown) if (!this.clock.isNew(since)) socket.destroy();
    void this.#http1.drain();
    const grace = setTimeout(() => {
      this.#closed = true;
      for (const socket of this.#unknown.keys()) socket.destroy();
      for (const connection of this.#open) connection.drain();
      this.#changed();
    }, firstRequestGrace);
    grace.unref();
    while (this.#unknown.size > 0 || this.#open.size > 0 || this.#awaitsHandshakes) await this.#change();
    // Once more: a connection that was accepted just now may have turned out to speak HTTP/1.1.
    await this.#http1.drain();
    this.#closed = true;
    clearTimeout(grace);
    this.clock.stop();
  }

  destroy(): void {
    this.draining = true;
    this.#closed = true;
    this.#sockets.destroy();
    this.#http1.destroy();
    for (const connection of this.#open) connection.destroy();
    for (const socket of this.#unknown.keys()) socket.destroy();
    this.clock.stop();
  }

  report(error: unknown): void {
    this.limits.onError?.(error);
  }

  refused(error: HttpError): void {
    this.limits.onRefusal?.(error);
  }

  abused(reason: Http2Abuse): void {
    this.limits.onAbuse?.(reason);
  }

  left(connection: Http2Connection): void {
    this.#open.delete(connection);
    this.unread.set(connection, 0);
    this.#changed();
  }

  get #awaitsHandshakes(): boolean {
    return !this.#closed && this.#sockets.handshakes > 0;
  }

  #sniff(socket: Duplex): void {
    this.#unknown.set(socket, this.clock.tick);
    socket.on("error", ignore);
    const forget = (): void => {
      this.#unknown.delete(socket);
      this.#changed();
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

  #sweep(): void {
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

  /** Resolves when a connection has been closed, its protocol is known, or a handshake is over. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#whenChanged.push(resolve);
    });
  }

  #changed(): void {
    for (const resolve of this.#whenChanged.splice(0)) resolve();
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
