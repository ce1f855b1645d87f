import { failureResponse } from "../../error-pages/failure.js";
import { type HttpError, httpError } from "../../errors/http-error.js";
import type { ErrorCode } from "../../errors/table.js";
import { isAbortOf } from "../../http/aborted.js";
import { Request } from "../../http/request.js";
import type { UpgradeCallback } from "../../http/source.js";
import type { BodyHost } from "../body/body-buffer.js";
import type { BodyMemory } from "../body/body-memory.js";
import { clientLeft } from "../client-left.js";
import { NetBody } from "./body.js";
import type { ClientSocket } from "./client-socket.js";
import { cutOff } from "./cut-off.js";
import type { Deadlines } from "./deadlines.js";
import { Exchange, type ExchangeHost, type ExchangeOwner } from "./exchange.js";
import { BAD, type HeadParser, LINE, REFUSED } from "./head.js";
import { HeldBytes } from "./held-bytes.js";
import {
  BEHIND,
  CLOSED,
  type ConnectionState,
  FRESH,
  HEAD,
  IDLE,
  LINGERING,
  type Phase,
  REQUEST,
  SKIPPING,
  UPGRADING,
} from "./phase.js";
import { ResponseWriter, type WriterContext, type WriterHost } from "./response-writer.js";
import { NetRequestSource, type Peer } from "./source.js";

/** The parts that the connections of one server share. */
export interface ConnectionHost extends ExchangeHost, WriterContext {
  readonly parser: HeadParser;
  readonly bodyMemory: BodyMemory;
  readonly deadlines: Deadlines;
  /** The connection is no longer this server's: it is closed, or speaks another protocol. */
  left(connection: Connection): void;
  /** Hands the socket over to another protocol. */
  handOver(connection: Connection, head: Buffer, upgrade: UpgradeCallback): void;
}

/** Bytes held behind a request that waits for its response; beyond this, the client is not read from. */
export const maxHeld: number = 64 * 1024;
/** The rest of an unwanted body, up to which reading it is cheaper than making the client connect anew. */
const maxDiscard = 64 * 1024;

/** One client's connection: reads a request, gets its response, and only then reads the request behind it. */
export class Connection implements BodyHost, WriterHost, ExchangeOwner, Peer {
  readonly socket: ClientSocket;
  readonly secure: boolean;
  readonly #host: ConnectionHost;
  readonly #writer: ResponseWriter;
  readonly #exchange: Exchange;
  readonly #held = new HeldBytes();
  #phase: Phase = FRESH;
  /** The body that is still arriving; only in REQUEST and SKIPPING. */
  #body: NetBody | null = null;
  /** The size at which the head that is held is parsed again, even without the end of a line. */
  #parseAgainAt = 0;
  /** The tick at which the phase began, or last made progress. */
  #since: number;
  #lingerSince = 0;
  /** The client will send nothing more. */
  #ended = false;
  #paused = false;
  /** Inside the loop over received bytes: the phase that a response leaves is looked at there. */
  #running = false;
  #upgradeTo: UpgradeCallback | null = null;

  constructor(host: ConnectionHost, socket: ClientSocket, secure: boolean) {
    this.#host = host;
    this.socket = socket;
    this.secure = secure;
    this.#writer = new ResponseWriter(socket, host, this);
    this.#exchange = new Exchange(host, this, this.#writer);
    this.#since = host.clock.tick;
  }

  get remoteAddress(): string {
    return this.socket.remoteAddress ?? "";
  }

  get bodyMemory(): BodyMemory {
    return this.#host.bodyMemory;
  }

  /** For tests: everything that the phase makes a promise about. */
  get state(): ConnectionState {
    return {
      phase: this.#phase,
      request: this.#exchange.request !== null,
      body: this.#body !== null,
      held: this.#held.size,
      behind: this.#writer.behind,
      paused: this.#paused,
      ended: this.#ended,
    };
  }

  // Called by the socket.

  /** Takes the bytes from `start` to `end`. They belong to the connection from here on. */
  received(bytes: Buffer, start: number, end: number): void {
    if (this.#phase >= UPGRADING) {
      this.#since = this.#host.clock.tick;
    } else if (this.#held.bytes === null) {
      this.#run(bytes, start, end);
    } else {
      this.#held.add(bytes, start, end);
      if (this.#phase === HEAD) this.#continueHead();
      else this.#regulate();
    }
  }

  /** The client will send nothing more; it may still read. */
  ended(): void {
    this.#ended = true;
    if (this.#phase === HEAD) {
      this.#headBroken("MALFORMED_REQUEST", this.#held.size);
    } else if (this.#phase === REQUEST) {
      const { request } = this.#exchange;
      if (this.#body !== null) this.#bodyBroken(httpError("INCOMPLETE_BODY"));
      request!.abort(clientLeft());
    } else if (this.#phase < UPGRADING && this.#held.bytes === null) {
      this.#close();
    }
  }

  /** The client has taken the bytes that were sent. */
  drained(): void {
    this.#writer.drained();
    if (this.#phase === BEHIND && !this.#writer.behind) {
      this.#phase = IDLE;
      this.#advance();
    }
  }

  /** The socket is closed. */
  gone(): void {
    if (this.#phase === CLOSED) return;
    this.#phase = CLOSED;
    this.#host.left(this);
    const { request } = this.#exchange;
    const body = this.#body;
    this.#body = null;
    this.#held.clear();
    this.#writer.cancel();
    body?.fail(httpError("INCOMPLETE_BODY"));
    request?.abort(clientLeft());
    this.#exchange.over();
  }

  /** Our own code failed: this connection ends, the others live on. */
  broken(error: unknown): void {
    this.#host.report(error);
    this.socket.destroy();
  }

  // Called by the server.

  /** Called at every tick. */
  checkDeadlines(): void {
    const { clock, deadlines } = this.#host;
    const { socket } = this;
    if (this.#writer.isStalled(deadlines.write)) {
      socket.destroy();
      return;
    }
    const phase = this.#phase;
    if ((phase === IDLE || phase === LINGERING) && socket.writableLength > 0) {
      // A client that is still taking a response has not begun to wait.
      this.#since = clock.tick;
      this.#lingerSince = clock.tick;
      return;
    }
    const waited = clock.tick - this.#since;
    switch (phase) {
      case FRESH:
        if (waited > deadlines.head) socket.destroy();
        return;
      case IDLE:
        if (waited > deadlines.keepAlive) socket.destroy();
        return;
      case HEAD:
        if (waited > deadlines.head) this.#headBroken("REQUEST_TIMEOUT", this.#held.size);
        return;
      case REQUEST:
        // The time that a response takes is the application's affair.
        if (this.#body === null || this.#paused || this.#body.awaitsContinue) return;
        if (waited > deadlines.body || this.#body.isBufferedSince(clock.tick - deadlines.bodyTotal)) {
          this.#bodyBroken(httpError("REQUEST_TIMEOUT"));
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
    if (this.#phase === FRESH && !last) return;
    if (this.#phase === REQUEST || this.#phase >= UPGRADING || this.#held.bytes !== null) return;
    if (this.socket.writableLength > 0) this.#close();
    else this.socket.destroy();
  }

  // Called by the body of the request.

  bodyWanted(): void {
    const body = this.#body;
    if (body === null) return;
    body.readSince = this.#host.clock.tick;
    if (!body.awaitsContinue) return;
    body.awaitsContinue = false;
    this.#since = body.readSince;
    if (body.arrived === 0 && !this.#writer.busy) this.#writer.sendInterim("HTTP/1.1 100 Continue\r\n\r\n");
  }

  bodyDrained(): void {
    this.#regulate();
  }

  // Called by the exchange and its writer.

  canSkipBody(): boolean {
    return this.#body === null || (this.#body.left <= maxDiscard && !this.#body.awaitsContinue);
  }

  upgrade(callback: UpgradeCallback): void {
    this.#phase = UPGRADING;
    this.#upgradeTo = callback;
    if (!this.#running) this.#handOver();
  }

  responded(keep: boolean): void {
    this.#exchange.over();
    // A response that was on its way when draining began has not told the client that it is the last.
    const isLast = this.#host.draining && this.#held.bytes === null;
    if (!keep || !this.#exchange.keepAlive || isLast) {
      this.#close();
      return;
    }
    this.#since = this.#host.clock.tick;
    if (this.#body === null) {
      this.#phase = this.#writer.behind ? BEHIND : IDLE;
    } else {
      this.#phase = SKIPPING;
      this.#body.drop();
    }
    if (!this.#running) this.#advance();
  }

  responseFailed(error: unknown, begun: boolean): void {
    const { request } = this.#exchange;
    if (request === null || !isAbortOf(request, error)) this.#host.report(error);
    if (begun) cutOff(this.socket, this.#exchange.old && !this.secure);
    else this.#exchange.respond(failureResponse());
  }

  // Reading.

  /** Uses bytes for as long as nothing has to be waited for. Responses that come at once leave together. */
  #run(bytes: Buffer, pos: number, end: number): void {
    this.#running = true;
    this.#writer.gather();
    while (pos < end) {
      if (this.#phase <= HEAD) {
        const headEnd = this.#host.parser.parse(bytes, pos, end);
        if (headEnd > 0) {
          pos = this.#begin(bytes, headEnd, end);
        } else if (headEnd === REFUSED) {
          this.#refuse(httpError(this.#host.parser.error));
        } else {
          this.#holdHead(bytes, pos, end);
          break;
        }
      } else if (this.#body !== null) {
        pos = this.#feed(this.#body, bytes, pos, end);
      } else {
        if (this.#phase <= UPGRADING) this.#held.add(bytes, pos, end);
        break;
      }
    }
    this.#running = false;
    this.#writer.release();
    if (this.#writer.behind && this.#phase <= HEAD) this.#phase = BEHIND;
    if (this.#phase === UPGRADING) this.#handOver();
    else if (this.#held.bytes !== null) this.#regulate();
  }

  #holdHead(bytes: Buffer, pos: number, end: number): void {
    if (this.#ended) {
      this.#headBroken("MALFORMED_REQUEST", end - pos);
      return;
    }
    this.#held.addHead(bytes, pos, end);
    this.#parseAgainAt = this.#host.parser.parseAgainAt;
    // The time for a head runs from its first byte; for the first head, from the beginning of the connection.
    if (this.#phase === IDLE) this.#since = this.#host.clock.tick;
    this.#phase = HEAD;
  }

  /** Looks at the bytes added to an unfinished head: at those alone, unless they finish a line. */
  #continueHead(): void {
    const held = this.#held;
    const found = held.scanHead();
    if (found === BAD) this.#refuse(httpError("MALFORMED_REQUEST"));
    else if (found === LINE || held.size > this.#parseAgainAt) this.#runHeld();
  }

  #runHeld(): void {
    const { bytes, start, end } = this.#held;
    this.#held.clear();
    if (bytes !== null) this.#run(bytes, start, end);
  }

  /** Goes on with the bytes that were held, when the reason to hold them may be gone. */
  #advance(): void {
    if (this.#phase === IDLE) {
      this.#since = this.#host.clock.tick;
      this.#runHeld();
    }
    this.#regulate();
    if (this.#ended) this.#endHeld();
  }

  /** The client has ended its side: a request that is not whole by now never will be. */
  #endHeld(): void {
    if (this.#phase === REQUEST && this.#body !== null) this.#bodyBroken(httpError("INCOMPLETE_BODY"));
    else if (this.#phase !== REQUEST && this.#phase < UPGRADING && this.#held.bytes === null) this.#close();
  }

  /** Makes a request of the head just parsed and starts its exchange; returns the end of its bytes. */
  #begin(bytes: Buffer, headEnd: number, end: number): number {
    const { parser, clock } = this.#host;
    const exchange = this.#exchange;
    const source = new NetRequestSource(this, parser, bytes, headEnd);
    exchange.keepAlive = parser.keepAlive;
    exchange.old = parser.old;
    this.#phase = REQUEST;
    this.#since = clock.tick;
    let pos = headEnd;
    if (parser.chunked || parser.contentLength > 0) {
      const body = new NetBody(this, parser.contentLength, parser.expectsContinue);
      source.body = body;
      this.#body = body;
      if (pos < end) pos = this.#feed(body, bytes, pos, end);
      if (this.#phase !== REQUEST) return end;
    }
    exchange.start(new Request(source));
    return pos;
  }

  #feed(body: NetBody, bytes: Buffer, pos: number, end: number): number {
    const used = body.consume(bytes, pos, end);
    if (body.madeProgress()) this.#since = this.#host.clock.tick;
    if (used === -1) {
      this.#bodyBroken(httpError("MALFORMED_REQUEST"));
      return end;
    }
    if (body.complete) {
      this.#body = null;
      if (this.#phase === SKIPPING) this.#phase = this.#writer.behind ? BEHIND : IDLE;
    } else if (body.full) {
      this.#regulate();
    }
    return used;
  }

  /** The rest of the body cannot be had: a handler that reads it gets the error, else the request is refused here. */
  #bodyBroken(error: HttpError): void {
    const body = this.#body!;
    if (this.#phase === SKIPPING) {
      this.#close();
      return;
    }
    this.#body = null;
    this.#exchange.keepAlive = false;
    body.fail(error);
    if (!body.engaged && !this.#writer.busy) this.#refuse(error);
  }

  #headBroken(code: ErrorCode, size: number): void {
    // An empty line before a request that never came needs no response.
    if (size <= 2) this.#close();
    else this.#refuse(httpError(code));
  }

  /** Reads from the client, or lets it wait. */
  #regulate(): void {
    const pause = this.#held.size > maxHeld || this.#body?.full === true;
    if (pause === this.#paused) return;
    this.#paused = pause;
    if (pause) {
      this.socket.pause();
    } else {
      this.#since = this.#host.clock.tick;
      this.socket.resume();
    }
  }

  // Ending.

  /** Responds to a request that is not valid, and reads no other. */
  #refuse(error: HttpError): void {
    this.#exchange.refuse(error);
  }

  #handOver(): void {
    const { bytes, start, end } = this.#held;
    this.#exchange.handedOver();
    this.#phase = CLOSED;
    this.#host.left(this);
    this.#host.handOver(this, bytes === null ? Buffer.alloc(0) : bytes.subarray(start, end), this.#upgradeTo!);
  }

  /** Ends the connection so that the client still gets the last response. */
  #close(): void {
    this.#phase = LINGERING;
    this.#exchange.over();
    this.#body = null;
    this.#held.clear();
    this.#since = this.#host.clock.tick;
    this.#lingerSince = this.#since;
    this.#regulate();
    this.#writer.end();
  }
}
