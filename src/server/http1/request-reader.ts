import { type HttpError, httpError } from "../../errors/http-error.js";
import type { ErrorCode } from "../../errors/table.js";
import { Request } from "../../http/request.js";
import type { BodyHost } from "../body/body-buffer.js";
import type { BodyMemory } from "../body/body-memory.js";
import { clientLeft } from "../client-left.js";
import type { Clock } from "../clock.js";
import { NetBody } from "./body.js";
import type { ClientSocket } from "./client-socket.js";
import type { Exchange } from "./exchange.js";
import { BAD, type HeadParser, LINE, REFUSED } from "./head.js";
import { HeldBytes } from "./held-bytes.js";
import { BEHIND, FRESH, HEAD, IDLE, type Phase, REQUEST, SKIPPING, UPGRADING } from "./phase.js";
import type { ResponseWriter } from "./response-writer.js";
import { NetRequestSource, type Peer } from "./source.js";

/** The parts that the readers of one server share. */
export interface ReaderHost {
  readonly clock: Clock;
  readonly parser: HeadParser;
  readonly bodyMemory: BodyMemory;
}

/** Bytes held behind a request that waits for its response; beyond this, the client is not read from. */
export const maxHeld: number = 64 * 1024;

/**
 * The incoming half of a connection: reads a request, starts its exchange, and reads the request behind it only when the
 * response has been given. The other half, which ends exchanges and the connection, is in connection.ts.
 */
export abstract class RequestReader implements BodyHost, Peer {
  readonly socket: ClientSocket;
  readonly secure: boolean;
  protected readonly held: HeldBytes = new HeldBytes();
  protected phase: Phase = FRESH;
  /** The body that is still arriving; only in REQUEST and SKIPPING. */
  protected body: NetBody | null = null;
  /** The tick at which the phase began, or last made progress. */
  protected since: number;
  /** True if the client sends nothing more. */
  hasEnded = false;
  protected paused = false;
  /** Inside the loop over received bytes: the phase that a response leaves is looked at there. */
  protected running = false;
  /** True if the bytes of the socket are lent. */
  readonly #lent: boolean;
  /** The size at which the head that is held is parsed again, even without the end of a line. */
  #parseAgainAt = 0;

  constructor(clock: Clock, socket: ClientSocket, secure: boolean) {
    this.socket = socket;
    this.secure = secure;
    this.#lent = socket.lends === true;
    this.since = clock.tick;
  }

  protected abstract readonly host: ReaderHost;
  protected abstract readonly writer: ResponseWriter;
  protected abstract readonly exchange: Exchange;
  /** Ends the connection so that the client still gets the last response. */
  protected abstract close(): void;
  /** Hands the socket to the protocol that the response chose. */
  protected abstract handOver(): void;

  get remoteAddress(): string {
    return this.socket.remoteAddress ?? "";
  }

  get bodyMemory(): BodyMemory {
    return this.host.bodyMemory;
  }

  // Called by the socket.

  /** Takes the bytes from `start` to `end`. They then belong to the connection, unless the socket lends them. */
  received(bytes: Buffer, start: number, end: number): void {
    if (this.phase >= UPGRADING) {
      this.since = this.host.clock.tick;
    } else if (this.held.bytes === null) {
      this.#run(bytes, start, end, this.#lent);
    } else {
      this.held.add(bytes, start, end, false);
      if (this.phase === HEAD) this.#continueHead();
      else this.regulate();
    }
  }

  /** The client will send nothing more; it may still read. */
  ended(): void {
    this.hasEnded = true;
    if (this.phase === HEAD) {
      this.headBroken("MALFORMED_REQUEST", this.held.size);
    } else if (this.phase === REQUEST) {
      const { request } = this.exchange;
      this.since = this.host.clock.tick;
      if (this.body !== null) this.bodyBroken(httpError("INCOMPLETE_BODY"));
      request!.abort(clientLeft());
    } else if (this.phase < UPGRADING && this.held.bytes === null) {
      this.close();
    }
  }

  // Called by the body of the request.

  bodyWanted(): void {
    const body = this.body;
    if (body === null) return;
    body.readSince = this.host.clock.tick;
    if (!body.awaitsContinue) return;
    body.awaitsContinue = false;
    this.since = body.readSince;
    if (body.arrived === 0 && !this.writer.busy) this.writer.sendInterim("HTTP/1.1 100 Continue\r\n\r\n");
  }

  bodyDrained(): void {
    this.regulate();
  }

  // Reading.

  /** Uses bytes for as long as nothing has to be waited for. Responses that come at once leave together. */
  #run(bytes: Buffer, pos: number, end: number, lent: boolean): void {
    this.running = true;
    this.writer.gather();
    while (pos < end) {
      if (this.phase <= HEAD) {
        const headEnd = this.host.parser.parse(bytes, pos, end);
        if (headEnd > 0) {
          pos = this.#begin(bytes, headEnd, end, lent);
        } else if (headEnd === REFUSED) {
          this.exchange.refuse(httpError(this.host.parser.error));
        } else {
          this.#holdHead(bytes, pos, end, lent);
          break;
        }
      } else if (this.body !== null) {
        pos = this.#feed(this.body, bytes, pos, end, lent);
      } else {
        if (this.phase <= UPGRADING) this.held.add(bytes, pos, end, lent);
        break;
      }
    }
    this.running = false;
    this.writer.release();
    if (this.writer.behind && this.phase <= HEAD) this.phase = BEHIND;
    if (this.phase === UPGRADING) this.handOver();
    else if (this.held.bytes !== null) this.regulate();
  }

  #holdHead(bytes: Buffer, pos: number, end: number, lent: boolean): void {
    if (this.hasEnded) {
      this.headBroken("MALFORMED_REQUEST", end - pos);
      return;
    }
    this.held.addHead(bytes, pos, end, lent);
    this.#parseAgainAt = this.host.parser.parseAgainAt;
    // The time for a head runs from its first byte; for the first head, from the beginning of the connection.
    if (this.phase === IDLE) this.since = this.host.clock.tick;
    this.phase = HEAD;
  }

  /** Looks at the bytes added to an unfinished head: at those alone, unless they finish a line. */
  #continueHead(): void {
    const held = this.held;
    const found = held.scanHead();
    if (found === BAD) this.exchange.refuse(httpError("MALFORMED_REQUEST"));
    else if (found === LINE || held.size > this.#parseAgainAt) this.#runHeld();
  }

  #runHeld(): void {
    const { bytes, start, end } = this.held;
    this.held.clear();
    if (bytes !== null) this.#run(bytes, start, end, false);
  }

  /** Continues with the bytes that were held, when the reason to hold them may have ended. */
  protected advance(): void {
    if (this.phase === IDLE) {
      this.since = this.host.clock.tick;
      this.#runHeld();
    }
    this.regulate();
    if (this.hasEnded) this.#endHeld();
  }

  /** The client has ended its side: a request that is not whole now never will be. */
  #endHeld(): void {
    if (this.phase === REQUEST && this.body !== null) this.bodyBroken(httpError("INCOMPLETE_BODY"));
    else if (this.phase !== REQUEST && this.phase < UPGRADING && this.held.bytes === null) this.close();
  }

  /** Makes a request of the head just parsed and starts its exchange; returns the end of its bytes. */
  #begin(bytes: Buffer, headEnd: number, end: number, lent: boolean): number {
    const { parser, clock } = this.host;
    const exchange = this.exchange;
    const source = new NetRequestSource(this, parser, bytes, headEnd, lent);
    exchange.keepAlive = parser.keepAlive;
    exchange.old = parser.old;
    this.phase = REQUEST;
    this.since = clock.tick;
    let pos = headEnd;
    if (parser.chunked || parser.contentLength > 0) {
      const body = new NetBody(this, parser.contentLength, parser.expectsContinue);
      source.body = body;
      this.body = body;
      if (pos < end) pos = this.#feed(body, bytes, pos, end, lent);
      if (this.phase !== REQUEST) return end;
    }
    exchange.start(new Request(source));
    return pos;
  }

  #feed(body: NetBody, bytes: Buffer, pos: number, end: number, lent: boolean): number {
    const used = body.consume(bytes, pos, end, lent);
    if (body.madeProgress()) this.since = this.host.clock.tick;
    if (used === -1) {
      this.bodyBroken(httpError("MALFORMED_REQUEST"));
      return end;
    }
    if (body.complete) {
      this.body = null;
      if (this.phase === SKIPPING) this.phase = this.writer.behind ? BEHIND : IDLE;
    } else if (body.full) {
      this.regulate();
    }
    return used;
  }

  /** The rest of the body cannot be had: a handler that reads it gets the error, else the request is refused here. */
  protected bodyBroken(error: HttpError): void {
    const body = this.body!;
    if (this.phase === SKIPPING) {
      this.close();
      return;
    }
    this.body = null;
    this.exchange.keepAlive = false;
    body.fail(error);
    if (!body.engaged && !this.writer.busy) this.exchange.refuse(error);
  }

  protected headBroken(code: ErrorCode, size: number): void {
    // An empty line before a request that never came needs no response.
    if (size <= 2) this.close();
    else this.exchange.refuse(httpError(code));
  }

  /** Reads from the client, or lets it wait. */
  protected regulate(): void {
    const pause = this.held.size > maxHeld || this.body?.full === true;
    if (pause === this.paused) return;
    this.paused = pause;
    if (pause) {
      this.socket.pause();
    } else {
      this.since = this.host.clock.tick;
      this.socket.resume();
    }
  }
}
