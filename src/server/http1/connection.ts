import { httpError } from "../../errors/http-error.js";
import { failureResponse } from "../../errors/pages/failure.js";
import { reportBrokenBody } from "../../http/aborted.js";
import type { UpgradeCallback } from "../../http/source.js";
import { clientLeft } from "../client-left.js";
import { cutOff } from "../cut-off.js";
import type { ClientSocket } from "./client-socket.js";
import type { Deadlines } from "./deadlines.js";
import { Exchange, type ExchangeHost, type ExchangeOwner } from "./exchange.js";
import {
  BEHIND,
  CLOSED,
  type ConnectionState,
  FRESH,
  HEAD,
  IDLE,
  LINGERING,
  REQUEST,
  SKIPPING,
  UPGRADING,
} from "./phase.js";
import { type ReaderHost, RequestReader } from "./request-reader.js";
import { ResponseWriter, type WriterContext, type WriterHost } from "./response-writer.js";

/** The parts that the connections of one server share. */
export interface ConnectionHost extends ReaderHost, ExchangeHost, WriterContext {
  /** A server that drains keeps connections that had a request just now for one more. */
  readonly patient: boolean;
  readonly deadlines: Deadlines;
  /** The connection is no longer this server's: it is closed, or speaks another protocol. */
  left(connection: Connection): void;
  /** Hands the socket over to another protocol. */
  handOver(connection: Connection, head: Buffer, upgrade: UpgradeCallback): void;
}

/** The rest of an unwanted body, up to which reading it is cheaper than making the client connect again. */
const maxDiscard = 64 * 1024;

/** One client's connection: its requests come from the reader, its responses, deadlines and end are decided here. */
export class Connection extends RequestReader implements WriterHost, ExchangeOwner {
  protected readonly host: ConnectionHost;
  protected readonly writer: ResponseWriter;
  protected readonly exchange: Exchange;
  #lingerSince = 0;
  #upgradeTo: UpgradeCallback | null = null;

  constructor(host: ConnectionHost, socket: ClientSocket, secure: boolean) {
    super(host.clock, socket, secure);
    this.host = host;
    this.writer = new ResponseWriter(socket, host, this);
    this.exchange = new Exchange(host, this, this.writer);
  }

  /** For tests: everything that the phase makes a promise about. */
  get state(): ConnectionState {
    return {
      phase: this.phase,
      request: this.exchange.request !== null,
      body: this.body !== null,
      held: this.held.size,
      behind: this.writer.behind,
      paused: this.paused,
      ended: this.hasEnded,
    };
  }

  // Called by the socket.

  /** Bytes that were written are still to be taken, which the socket did not know when it was written to. */
  fellBehind(): void {
    this.writer.fellBehind();
    if (this.phase <= HEAD) this.phase = BEHIND;
  }

  /** The client has taken the bytes that were sent. */
  drained(): void {
    this.writer.drained();
    if (this.phase === BEHIND && !this.writer.behind) {
      this.phase = IDLE;
      this.advance();
    }
  }

  /** The socket is closed. */
  gone(): void {
    if (this.phase === CLOSED) return;
    this.phase = CLOSED;
    this.host.left(this);
    const { request } = this.exchange;
    const body = this.body;
    this.body = null;
    this.held.clear();
    this.writer.cancel();
    body?.fail(httpError("INCOMPLETE_BODY"));
    request?.abort(clientLeft());
    this.exchange.over();
  }

  /** Our own code failed: this connection ends, the others live on. */
  broken(error: unknown): void {
    this.host.report(error);
    this.socket.destroy();
  }

  // Called by the server.

  /** Called at every tick. */
  checkDeadlines(): void {
    const { clock, deadlines } = this.host;
    const { socket } = this;
    if (this.writer.isStalled(deadlines.write)) {
      socket.destroy();
      return;
    }
    const phase = this.phase;
    if ((phase === IDLE || phase === LINGERING) && socket.writableLength > 0) {
      // A client that is still taking a response has not begun to wait.
      this.since = clock.tick;
      this.#lingerSince = clock.tick;
      return;
    }
    const waited = clock.tick - this.since;
    switch (phase) {
      case FRESH:
        if (waited > deadlines.head) socket.destroy();
        return;
      case IDLE:
        if (waited > deadlines.keepAlive) socket.destroy();
        return;
      case HEAD:
        if (waited > deadlines.head) this.headBroken("REQUEST_TIMEOUT", this.held.size);
        return;
      case REQUEST:
        if (this.hasEnded && this.writer.busy) {
          // The client has most likely left, and only a write can tell.
          if (!this.writer.isQuiet()) this.since = clock.tick;
          else if (waited > deadlines.write) socket.destroy();
          return;
        }
        // The time that a response takes is the application's affair.
        if (this.body === null || this.paused || this.body.awaitsContinue) return;
        if (waited > deadlines.body || this.body.isBufferedSince(clock.tick - deadlines.bodyTotal)) {
          this.bodyBroken(httpError("REQUEST_TIMEOUT"));
        }
        return;
      case SKIPPING:
        if (waited > deadlines.body) socket.destroy();
        return;
      case LINGERING:
        if (waited > deadlines.linger || clock.tick - this.#lingerSince > deadlines.lingerInAll) socket.destroy();
    }
  }

  /**
   * The server drains: a connection without a request ends now, the others after their response. The first request of a
   * new connection may be on its way: it has the time until the last call.
   */
  drain(last = true): void {
    const mayAsk = this.phase === FRESH || (this.phase === IDLE && this.host.patient);
    if (mayAsk && !last && this.host.clock.isNew(this.since)) return;
    if (this.phase === REQUEST || this.phase >= UPGRADING || this.held.bytes !== null) return;
    if (this.socket.writableLength > 0) this.close();
    else this.socket.destroy();
  }

  // Called by the exchange and its writer.

  canSkipBody(): boolean {
    return this.body === null || (this.body.left <= maxDiscard && !this.body.awaitsContinue);
  }

  upgrade(callback: UpgradeCallback): void {
    this.phase = UPGRADING;
    this.#upgradeTo = callback;
    if (!this.running) this.handOver();
  }

  responded(keep: boolean): void {
    this.exchange.over();
    // A response that was on its way when draining began has not told the client that it is the last.
    const isLast = this.host.draining && this.held.bytes === null;
    if (!keep || !this.exchange.keepAlive || isLast) {
      this.close();
      return;
    }
    this.since = this.host.clock.tick;
    if (this.body === null) {
      this.phase = this.writer.behind ? BEHIND : IDLE;
    } else {
      this.phase = SKIPPING;
      this.body.drop();
    }
    if (!this.running) this.advance();
  }

  responseFailed(error: unknown, begun: boolean): void {
    const { request } = this.exchange;
    reportBrokenBody(request, error, (failure) => this.host.report(failure));
    if (begun) cutOff(this.socket, this.exchange.old && !this.secure);
    else this.exchange.respond(failureResponse());
  }

  // Ending.

  protected handOver(): void {
    const { bytes, start, end } = this.held;
    this.exchange.handedOver();
    this.writer.cancel();
    this.phase = CLOSED;
    this.host.left(this);
    this.host.handOver(this, bytes === null ? Buffer.alloc(0) : bytes.subarray(start, end), this.#upgradeTo!);
  }

  protected close(): void {
    this.phase = LINGERING;
    this.exchange.over();
    this.body = null;
    this.held.clear();
    this.since = this.host.clock.tick;
    this.#lingerSince = this.since;
    this.regulate();
    this.writer.end();
  }
}
