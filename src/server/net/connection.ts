import type { Duplex } from "node:stream";
import { problemResponse } from "../../error-pages/problem.js";
import { type HttpError, httpError } from "../../errors/http-error.js";
import type { ErrorCode } from "../../errors/table.js";
import { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import type { UpgradeCallback } from "../../http/source.js";
import { type BodyHost, bodyProgress } from "../body/body-buffer.js";
import { discardBody } from "../body/sender.js";
import { clientLeft } from "../client-left.js";
import { failureResponse } from "../failure.js";
import type { Dispatch } from "../transport.js";
import { NetBody } from "./body.js";
import { cutOff } from "./cut-off.js";
import { BAD, type HeadParser, LINE, REFUSED, scanAddition } from "./head.js";
import { HeldBytes } from "./held-bytes.js";
import { ResponseWriter, type WriterContext, type WriterHost } from "./response-writer.js";
import { NetRequestSource, type Peer } from "./source.js";

/** What the connections of one server share. */
export interface ConnectionHost extends WriterContext {
  readonly dispatch: Dispatch;
  readonly parser: HeadParser;
  readonly deadlines: Deadlines;
  /** No further requests are taken: answers say so. */
  readonly draining: boolean;
  report(error: unknown): void;
  /** The connection is no longer this server's: it is closed, or speaks another protocol. */
  left(connection: Connection): void;
  /** Hands the socket over to another protocol. */
  handOver(connection: Connection, head: Buffer, upgrade: UpgradeCallback): void;
}

/** In ticks of the clock. */
export interface Deadlines {
  readonly head: number;
  readonly body: number;
  readonly keepAlive: number;
  readonly write: number;
  /** After the last answer: without a byte from the client, and in all. */
  readonly linger: number;
  readonly lingerInAll: number;
}

/** Requests that wait behind one that is being answered: past this, the client is not read from. */
const maxHeld = 64 * 1024;
/** The rest of an unwanted body, up to which reading it is cheaper than making the client connect anew. */
const maxDiscard = 64 * 1024;

/** One client's connection: reads a request, writes its answer, and only then looks at what comes behind. */
export class Connection implements BodyHost, WriterHost, Peer {
  readonly socket: Duplex;
  readonly secure: boolean;
  readonly #host: ConnectionHost;
  readonly #writer: ResponseWriter;
  readonly #held = new HeldBytes();
  /** The bytes of an unfinished head that were scanned, counted from its start: the bytes move when more are added. */
  #scanned = 0;
  /** The size at which the unfinished head is parsed again from its start. */
  #lookAgain = 0;
  /** The request being answered. */
  #current: Request | null = null;
  /** The request that the application is still at work on; its answer may come when nobody waits for it any more. */
  #unsettled: Request | null = null;
  /** The body that is still arriving. */
  #body: NetBody | null = null;
  /** The tick at which what is waited for began, or last made progress. */
  #since: number;
  #lingerSince = 0;
  /** How much of the body had arrived when it last made progress. */
  #arrivedBefore = 0;
  /** No request has been received yet: the time for the first one runs from the beginning. */
  #fresh = true;
  /** The request being answered lets the connection stay open. */
  #keepAlive = true;
  #old = false;
  #awaitsContinue = false;
  /** The last answer is given: what still arrives is thrown away, so that the client reads the answer before a reset. */
  #lingering = false;
  /** The client will send nothing more. */
  #ended = false;
  #gone = false;
  #paused = false;
  /** Inside the loop over received bytes. */
  #running = false;
  /** Who gets the socket, once the bytes behind the request have been put aside for it. */
  #upgrade: UpgradeCallback | null = null;
  #onResponse: ((response: Response) => void) | null = null;
  #onRejection: ((error: unknown) => void) | null = null;

  constructor(host: ConnectionHost, socket: Duplex, secure: boolean) {
    this.#host = host;
    this.socket = socket;
    this.secure = secure;
    this.#writer = new ResponseWriter(socket, host, this);
    this.#since = host.clock.tick;
  }

  get remoteAddress(): string {
    return (this.socket as { remoteAddress?: string }).remoteAddress ?? "";
  }

  // Told by the socket.

  received(chunk: Buffer): void {
    if (this.#lingering) {
      this.#since = this.#host.clock.tick;
      return;
    }
    if (this.#held.bytes === null) {
      this.#run(chunk, 0, chunk.length);
      return;
    }
    this.#held.add(chunk, 0, chunk.length);
    if (this.#waiting) this.#regulate();
    else this.#continueHead();
  }

  ended(): void {
    this.#ended = true;
    if (this.#lingering) return;
    if (this.#current !== null) {
      const current = this.#current;
      if (this.#body !== null) this.#bodyBroken(httpError("INCOMPLETE_BODY"));
      current.abort(clientLeft());
    } else if (this.#body !== null || this.#held.bytes === null) {
      this.#close();
    } else if (!this.#waiting) {
      this.#headBroken("MALFORMED_REQUEST", this.#held.size);
    }
  }

  drained(): void {
    const busy = this.#writer.busy;
    this.#writer.drained();
    if (!busy && this.#current === null) this.#advance();
  }

  /** The socket is closed. */
  gone(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#host.left(this);
    const current = this.#current;
    const body = this.#body;
    this.#body = null;
    this.#held.clear();
    this.#writer.cancel();
    body?.fail(httpError("INCOMPLETE_BODY"));
    current?.abort(clientLeft());
    this.#release();
  }

  /** Our own code failed: this connection ends, the others live on. */
  broken(error: unknown): void {
    this.#host.report(error);
    this.socket.destroy();
  }

  // Told by the server.

  /** Called at every tick. */
  checkDeadlines(): void {
    const { clock, deadlines } = this.#host;
    if (this.#writer.isStalled(deadlines.write)) {
      this.socket.destroy();
      return;
    }
    if (this.socket.writableLength > 0 && this.#body === null && this.#held.bytes === null) {
      // Whoever is still taking an answer has not begun to wait, or to linger.
      this.#since = clock.tick;
      this.#lingerSince = clock.tick;
    }
    const waited = clock.tick - this.#since;
    if (this.#lingering) {
      if (waited > deadlines.linger || clock.tick - this.#lingerSince > deadlines.lingerInAll) this.socket.destroy();
    } else if (this.#body !== null) {
      if (waited > deadlines.body && !this.#paused && !this.#awaitsContinue) this.#bodyLate();
    } else if (this.#waiting) {
      // How long an answer takes is the application's affair; whether the client takes it was looked at above.
    } else if (this.#held.bytes !== null) {
      if (waited > deadlines.head) this.#headBroken("REQUEST_TIMEOUT", this.#held.size);
    } else if (waited > (this.#fresh ? deadlines.head : deadlines.keepAlive)) {
      this.socket.destroy();
    }
  }

  /** The server drains: what has no request in hand ends now, the others after their answer. */
  drain(): void {
    if (this.#current !== null || this.#held.bytes !== null || this.#lingering) return;
    if (this.socket.writableLength > 0) this.#close();
    else this.socket.destroy();
  }

  // Told by the body of the request.

  bodyWanted(): void {
    if (!this.#awaitsContinue) return;
    this.#awaitsContinue = false;
    this.#since = this.#host.clock.tick;
    if (this.#body?.arrived === 0 && !this.#writer.busy) this.#writer.sendInterim("HTTP/1.1 100 Continue\r\n\r\n");
  }

  bodyDrained(): void {
    this.#regulate();
  }

  // Told by the writer.

  answered(keep: boolean): void {
    this.#release();
    // An answer that was on its way when draining began has not told the client that it is the last.
    const last = this.#host.draining && this.#held.bytes === null;
    if (!keep || !this.#keepAlive || last) {
      this.#close();
      return;
    }
    this.#since = this.#host.clock.tick;
    this.#body?.drop();
    if (!this.#running) this.#advance();
  }

  answerFailed(error: unknown, begun: boolean): void {
    this.#host.report(error);
    if (begun) cutOff(this.socket, this.#old && !this.secure);
    else this.#answer(failureResponse());
  }

  // Reading.

  /** Nothing can be read as a request yet: one is being answered, or the client is behind in taking answers. */
  get #waiting(): boolean {
    return this.#current !== null || this.#writer.behind;
  }

  /** Uses bytes for as long as nothing has to be waited for. Answers that came at once leave together. */
  #run(bytes: Buffer, pos: number, end: number): void {
    this.#running = true;
    this.#writer.gather();
    while (pos < end && !this.#lingering && !this.#gone) {
      if (this.#body !== null) {
        pos = this.#feed(this.#body, bytes, pos, end);
      } else if (this.#waiting) {
        this.#held.add(bytes, pos, end);
        this.#regulate();
        break;
      } else {
        const headEnd = this.#host.parser.parse(bytes, pos, end);
        if (headEnd > 0) {
          pos = this.#begin(bytes, headEnd, end);
        } else if (headEnd === REFUSED) {
          this.#refuse(this.#host.parser.error);
        } else {
          this.#holdHead(bytes, pos, end);
          break;
        }
      }
    }
    this.#running = false;
    this.#writer.release();
    if (this.#upgrade !== null) this.#handOver(this.#upgrade);
  }

  #holdHead(bytes: Buffer, pos: number, end: number): void {
    if (this.#ended) {
      this.#headBroken("MALFORMED_REQUEST", end - pos);
      return;
    }
    this.#held.add(bytes, pos, end);
    this.#scanned = this.#held.size;
    this.#lookAgain = this.#host.parser.lookAgain;
    if (!this.#fresh) this.#since = this.#host.clock.tick;
  }

  /** Looks at what was added to an unfinished head: at the new bytes alone, unless they finish a line. */
  #continueHead(): void {
    const held = this.#held;
    const found = scanAddition(held.bytes!, held.start, held.start + this.#scanned, held.end);
    this.#scanned = held.size;
    if (found === BAD) {
      this.#refuse("MALFORMED_REQUEST");
    } else if (found === LINE || held.size > this.#lookAgain) {
      const since = this.#since;
      this.#runHeld();
      // The head must be whole so many seconds after its first byte, not after its last.
      if (this.#held.bytes !== null && this.#current === null) this.#since = since;
    }
  }

  #runHeld(): void {
    const { bytes, start, end } = this.#held;
    this.#held.clear();
    if (bytes !== null) this.#run(bytes, start, end);
  }

  /** Goes on with what was held back. */
  #advance(): void {
    if (this.#lingering || this.#gone) return;
    this.#since = this.#host.clock.tick;
    this.#runHeld();
    this.#regulate();
    if (this.#ended) this.#endHeld();
  }

  /** Ends what the client left unfinished: the bytes that were held back have been used, and no more will come. */
  #endHeld(): void {
    if (this.#lingering || this.#gone) return;
    if (this.#body !== null) this.#bodyBroken(httpError("INCOMPLETE_BODY"));
    else if (this.#current === null && this.#held.bytes === null) this.#close();
  }

  /** Makes a request of the head just parsed and has it answered; returns where its bytes end. */
  #begin(bytes: Buffer, headEnd: number, end: number): number {
    const host = this.#host;
    const parser = host.parser;
    const source = new NetRequestSource(this, parser, bytes, headEnd);
    this.#keepAlive = parser.keepAlive;
    this.#old = parser.old;
    this.#fresh = false;
    this.#since = host.clock.tick;
    this.#arrivedBefore = 0;
    let pos = headEnd;
    if (parser.chunked || parser.contentLength > 0) {
      this.#awaitsContinue = parser.expectsContinue;
      const body = new NetBody(this, parser.contentLength);
      source.body = body;
      this.#body = body;
      if (pos < end) pos = this.#feed(body, bytes, pos, end);
      if (this.#lingering) return end;
    }
    const request = new Request(source);
    this.#current = request;
    let result: Response | Promise<Response>;
    try {
      result = host.dispatch(request);
    } catch (error) {
      result = this.#failure(error);
    }
    if (isPromise(result)) this.#await(result);
    else this.#answer(result);
    return pos;
  }

  #await(result: Promise<Response>): void {
    this.#unsettled = this.#current;
    // One pair of functions serves the whole connection: there is never more than one request to answer.
    this.#onResponse ??= (response) => this.#answerLater(response);
    this.#onRejection ??= (error) => this.#answerLater(this.#failure(error));
    result.then(this.#onResponse, this.#onRejection);
  }

  #feed(body: NetBody, bytes: Buffer, pos: number, end: number): number {
    const used = body.consume(bytes, pos, end);
    if (body.arrived - this.#arrivedBefore >= bodyProgress) {
      this.#arrivedBefore = body.arrived;
      this.#since = this.#host.clock.tick;
    }
    if (used === -1) {
      this.#bodyBroken(httpError("MALFORMED_REQUEST"));
      return end;
    }
    if (body.complete) {
      this.#body = null;
      this.#awaitsContinue = false;
      this.#since = this.#host.clock.tick;
    } else if (body.full) {
      this.#regulate();
    }
    return used;
  }

  /** The rest of the body cannot be had: whoever reads it gets the error and answers, else it is answered here. */
  #bodyBroken(error: HttpError): void {
    const body = this.#body!;
    this.#body = null;
    this.#keepAlive = false;
    body.fail(error);
    if (!body.engaged && !this.#writer.busy) this.#refuseWith(error);
  }

  #bodyLate(): void {
    if (this.#current === null) this.socket.destroy();
    else this.#bodyBroken(httpError("REQUEST_TIMEOUT"));
  }

  #headBroken(code: ErrorCode, size: number): void {
    // An empty line before a request that never came needs no response.
    if (size <= 2) this.#close();
    else this.#refuse(code);
  }

  /** Reads from the client, or lets it wait. */
  #regulate(): void {
    const pause = !this.#lingering && (this.#held.size > maxHeld || this.#body?.full === true);
    if (pause === this.#paused) return;
    this.#paused = pause;
    if (pause) {
      this.socket.pause();
    } else {
      this.#since = this.#host.clock.tick;
      this.socket.resume();
    }
  }

  // Answering.

  #answerLater(response: Response): void {
    const request = this.#unsettled;
    this.#unsettled = null;
    if (this.#current === null) {
      discardBody(response.body);
      request?.finish();
      return;
    }
    try {
      this.#answer(response);
    } catch (error) {
      this.broken(error);
    }
  }

  #answer(response: Response): void {
    const isHead = this.#current!.method === "HEAD";
    if (response.status === 101 && response.upgrade) {
      this.#upgrade = response.upgrade;
      if (!this.#running) this.#handOver(response.upgrade);
      return;
    }
    if (response.status < 200) response = this.#failure(new Error(`status ${response.status} cannot end an exchange`));
    const keep = this.#keepAlive && !this.#host.draining && this.#canSkipBody();
    try {
      this.#writer.send(response, isHead, this.#old, keep);
    } catch (error) {
      discardBody(response.body);
      this.#writer.send(this.#failure(error), isHead, this.#old, keep);
    }
  }

  /** The request is answered, or cannot be any more. */
  #release(): void {
    const current = this.#current;
    this.#current = null;
    if (current !== null && current !== this.#unsettled) current.finish();
  }

  /** Whether what is left of the body can be read past, so that the next request is found behind it. */
  #canSkipBody(): boolean {
    return this.#body === null || (this.#body.left <= maxDiscard && !this.#awaitsContinue);
  }

  /** Answers a request that is not valid, and reads no other. */
  #refuse(code: ErrorCode): void {
    this.#refuseWith(httpError(code));
  }

  #refuseWith(error: HttpError): void {
    const current = this.#current;
    this.#keepAlive = false;
    this.#writer.send(problemResponse(error), current?.method === "HEAD", false, false);
    current?.abort(error);
  }

  /** The answer to a request that our own code failed at. */
  #failure(error: unknown): Response {
    this.#host.report(error);
    return failureResponse();
  }

  #handOver(upgrade: UpgradeCallback): void {
    const { bytes, start, end } = this.#held;
    this.#current = null;
    this.#gone = true;
    this.#host.left(this);
    this.#host.handOver(this, bytes === null ? Buffer.alloc(0) : bytes.subarray(start, end), upgrade);
  }

  /** Ends the connection so that the client still gets the last answer. */
  #close(): void {
    this.#lingering = true;
    this.#release();
    this.#body = null;
    this.#held.clear();
    this.#since = this.#host.clock.tick;
    this.#lingerSince = this.#since;
    this.#regulate();
    this.#writer.end();
  }
}

function isPromise(result: Response | Promise<Response>): result is Promise<Response> {
  return typeof (result as { then?: unknown }).then === "function";
}
