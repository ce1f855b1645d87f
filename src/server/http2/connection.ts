import { constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import { type HttpError, httpError } from "../../errors/http-error.js";
import type { BodyMemory } from "../body/body-memory.js";
import type { HeldBody, UnreadResponses } from "../body/unread-responses.js";
import type { Clock } from "../clock.js";
import type { Deadlines } from "../http1/deadlines.js";
import type { Peer } from "../http1/source.js";
import type { Dispatch } from "../transport.js";
import { abuseOf, type Http2Abuse } from "./abuse.js";
import { Budget } from "./budget.js";
import { checkRequest, type HeadLimits, hasOuterSpace, sizeOf } from "./checks.js";
import { type ExchangeOwner, Http2Exchange } from "./exchange.js";
import type { Http2Fields } from "./fields.js";
import { HeadWatch } from "./head-watch.js";
import { LifeWatch } from "./life-watch.js";
import type { Http2StreamHandlers, Http2StreamPeer } from "./streams.js";
import { TakenStream } from "./taken-stream.js";
import { TrafficWatch } from "./traffic-watch.js";

/** The parts that the connections of one server share. */
export interface ConnectionHost {
  readonly dispatch: Dispatch;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  readonly bodyMemory: BodyMemory;
  readonly unread: UnreadResponses;
  readonly limits: HeadLimits;
  readonly fields: Http2Fields;
  readonly handlers: Http2StreamHandlers | null;
  /** True once the server drains: a connection takes no further streams after the next one. */
  readonly draining: boolean;
  report(error: unknown): void;
  refused(error: HttpError): void;
  /** A connection is ended because of what its client does. */
  abused(reason: Http2Abuse): void;
  /** The socket of the connection is closed. */
  left(connection: Http2Connection): void;
}

const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_FLAG_END_STREAM, NGHTTP2_REFUSED_STREAM } = constants;
/** Beyond this id a connection takes no further streams: the largest one is 2^31-1. */
const lastStreamId = 2 ** 31 - 2 * 1024;

/** Bytes of frames that a request needs beside its head and its body. */
const frameOverhead = 64;
/** Bytes before the payload of a frame. */
const frameHead = 9;

/** One client's connection that speaks HTTP/2: its streams, their deadlines, and the limits on what the client sends. */
export class Http2Connection implements ExchangeOwner {
  readonly peer: Peer;
  readonly socket: Duplex;
  readonly #host: ConnectionHost;
  readonly #session: ServerHttp2Session;
  readonly #streams = new Set<Http2Exchange | TakenStream>();
  readonly #resets: Budget;
  readonly #control: Budget;
  readonly #traffic: TrafficWatch;
  readonly #heads: HeadWatch;
  readonly #life: LifeWatch;
  /** Handlers that have not responded, those of cancelled streams included. */
  #running = 0;
  /** Bytes of responses that wait for the client. */
  #unread = 0;
  /** The client has sent its settings: it speaks HTTP/2. */
  #ready = false;
  /** The tick since which there is no stream. */
  #idleSince: number;
  #closingSince: number | null = null;
  /** The tick of a reset that the client should take, and the bytes written by then. */
  #reset: { readonly tick: number; readonly written: number } | null = null;

  constructor(host: ConnectionHost, session: ServerHttp2Session, socket: Duplex) {
    const { maxResets, maxControlFrames, connectionWindow } = host.fields;
    this.#host = host;
    this.#session = session;
    this.socket = socket;
    this.peer = {
      remoteAddress: (socket as { remoteAddress?: string }).remoteAddress ?? "",
      secure: (socket as { encrypted?: boolean }).encrypted === true,
      socket,
    };
    this.#resets = new Budget(maxResets);
    this.#control = new Budget(maxControlFrames);
    this.#traffic = new TrafficWatch(socket, connectionWindow);
    this.#heads = new HeadWatch(session);
    this.#life = new LifeWatch(session, host.clock, this.#traffic);
    this.#idleSince = host.clock.tick;
    session.setLocalWindowSize(connectionWindow);
    // The declarations of Node lack the last argument.
    const opened = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, raw: string[] = []): void =>
      this.#opened(stream, headers, flags, raw);
    session.on("stream", opened);
    const control = (): void => this.#spend(this.#control, "HTTP2_CONTROL_FLOOD");
    session.on("ping", control);
    session.on("priority", control);
    session.on("remoteSettings", () => {
      this.#ready = true;
      control();
    });
    session.on("error", (error) => {
      const reason = abuseOf(error);
      if (reason !== undefined) host.abused(reason);
    });
    socket.on("error", ignore);
    // Node does not tell the session if nghttp2 has ended it: the streams of a client that has left would run on.
    socket.on("end", () => this.destroy());
    socket.on("close", () => {
      session.destroy();
      host.left(this);
    });
  }

  get dispatch(): Dispatch {
    return this.#host.dispatch;
  }

  get bodyMemory(): BodyMemory {
    return this.#host.bodyMemory;
  }

  // Called by the server.

  /** Called at every tick, with the seconds since the last one. */
  checkDeadlines(seconds: number): void {
    const { clock, deadlines } = this.#host;
    if (this.#session.destroyed || (this.#session.closed && this.#streams.size === 0)) {
      this.#closingSince ??= clock.tick;
      if (clock.tick - this.#closingSince > deadlines.linger) this.socket.destroy();
      return;
    }
    this.#resets.refill(seconds);
    this.#control.refill(seconds);
    const quiet = this.#traffic.look(seconds);
    if (this.#traffic.isFlood) {
      this.#calmDown("HTTP2_FRAME_FLOOD");
      return;
    }
    for (const stream of this.#streams) stream.checkDeadlines(deadlines, quiet);
    // The bound of unread responses may have ended it.
    if (this.#session.destroyed) return;
    const waited = clock.tick - this.#idleSince;
    const isGone = this.#streams.size > 0 && this.#life.isDead(deadlines.write);
    if (isGone || this.#isBlocked() || (!this.#ready && waited > deadlines.head)) this.destroy();
    else if (this.#heads.isLate(deadlines.head)) this.#late();
    else if (this.#streams.size === 0 && waited > deadlines.keepAlive) this.close();
  }

  /**
   * The server drains. The first stream of a new connection may be on its way: it has the time until the last call. There
   * is no GOAWAY frame that leaves time for others: nghttp2 takes no streams behind any that Node can send.
   */
  drain(last = true): void {
    if (last || this.#heads.any || !this.#host.clock.isNew(this.#idleSince)) this.close();
  }

  /**
   * Takes no further streams, and ends with the last one that is open. The client learns which was the last (GOAWAY), and
   * can send those behind it again elsewhere.
   */
  close(): void {
    if (!this.#session.destroyed) this.#session.close();
  }

  destroy(): void {
    this.#session.destroy();
    this.socket.destroy();
  }

  // Called by exchanges.

  report(error: unknown): void {
    this.#host.report(error);
  }

  refused(error: HttpError): void {
    this.#host.refused(error);
  }

  received(bytes: number): void {
    this.#traffic.used(bytes);
  }

  settled(): void {
    this.#running--;
  }

  waits(change: number): void {
    if (change === 0) return;
    this.#unread += change;
    if (!this.#session.destroyed) this.#host.unread.set(this, this.#unread);
  }

  hold(body: HeldBody): void {
    if (!this.#session.destroyed) this.#host.unread.hold(this, body);
  }

  release(body: HeldBody): void {
    this.#host.unread.release(this, body);
  }

  delays(goOn: () => void): boolean {
    return this.#host.unread.delays(goOn);
  }

  stalled(): void {
    this.#reset ??= { tick: this.#host.clock.tick, written: this.#traffic.written };
  }

  makeLast(): void {
    this.close();
  }

  over(stream: Http2Exchange | TakenStream, broken: boolean): void {
    this.#streams.delete(stream);
    if (this.#streams.size === 0) this.#idleSince = this.#host.clock.tick;
    if (broken) this.#spend(this.#resets, "HTTP2_RESET_FLOOD");
  }

  #opened(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number, raw: readonly string[]): void {
    const { limits, fields, handlers, draining } = this.#host;
    const id = stream.id ?? 0;
    this.#heads.completed(id);
    const size = sizeOf(raw);
    this.#traffic.used(size + frameOverhead);
    if (id > lastStreamId || draining) this.close();
    // The client has cancelled it in the same packet: no handler starts.
    if (stream.destroyed || stream.closed) {
      stream.on("error", ignore);
      this.#spend(this.#resets, "HTTP2_RESET_FLOOD");
      return;
    }
    if (hasOuterSpace(raw)) {
      stream.on("error", ignore);
      stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
      this.#spend(this.#resets, "HTTP2_RESET_FLOOD");
      return;
    }
    // Handlers of cancelled streams may still run: a client that cancels cannot have more of them than one that waits.
    if (this.#running >= fields.maxConcurrentStreams) {
      stream.on("error", ignore);
      stream.close(NGHTTP2_REFUSED_STREAM);
      this.#spend(this.#resets, "HTTP2_RESET_FLOOD");
      return;
    }
    try {
      if (handlers?.offer(stream, headers, () => this.#streamPeer(raw)) === true) {
        this.#add(new TakenStream(this, stream));
        return;
      }
    } catch (error) {
      this.report(error);
      stream.on("error", ignore);
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
      return;
    }
    const exchange = new Http2Exchange(this, stream);
    this.#add(exchange);
    const head = checkRequest(headers, raw, size, limits);
    if (typeof head === "string") {
      exchange.refuse(httpError(head));
      return;
    }
    const length = Number(headers["content-length"] ?? -1);
    const hasBody = (flags & NGHTTP2_FLAG_END_STREAM) === 0 && !head.wantsWebSocket;
    this.#running++;
    exchange.run(head, raw, hasBody ? length : null, headers.expect !== undefined);
  }

  #add(stream: Http2Exchange | TakenStream): void {
    if (this.#streams.size === 0) this.#life.begin();
    this.#streams.add(stream);
  }

  /** True if the client does not read at all: not even the reset of a stream has left. */
  #isBlocked(): boolean {
    if (this.#reset === null) return false;
    const { tick, written } = this.#reset;
    if (this.#traffic.written !== written) this.#reset = null;
    else if (this.#host.clock.tick - tick > this.#host.deadlines.linger) return true;
    return false;
  }

  #streamPeer(rawHeaders: readonly string[]): Http2StreamPeer {
    return {
      ...this.peer,
      rawHeaders,
      bodyMemory: this.#host.bodyMemory,
      // Other protocols send small messages, each in its own frame.
      received: (bytes) => this.#traffic.used(bytes + frameHead),
    };
  }

  #spend(budget: Budget, reason: Http2Abuse): void {
    if (!budget.spend() && !this.#session.destroyed) this.#calmDown(reason);
  }

  /** A head is not complete in time. No response can be given to it. */
  #late(): void {
    this.refused(httpError("REQUEST_TIMEOUT"));
    this.destroy();
  }

  #calmDown(reason: Http2Abuse): void {
    this.#host.abused(reason);
    // Node ignores the code where there is no error.
    this.#session.destroy(new Error(reason), NGHTTP2_ENHANCE_YOUR_CALM);
  }
}

function ignore(): void {}
