import { constants, type ServerHttp2Stream } from "node:http2";
import { isInstance } from "../../errors/describe.js";
import { httpError } from "../../errors/http-error.js";
import { problemResponse } from "../../errors/pages/problem.js";
import { discardBody } from "../../http/discard.js";
import type { BodyStream, Response } from "../../http/response.js";
import type { UpgradeCallback } from "../../http/source.js";
import { isBodiless } from "../../http/status.js";
import { BodyBuffer } from "../body/body-buffer.js";
import { contentLength } from "../body/body-size.js";
import { type BodySender, LargeBodySender, StreamSender } from "../body/sender.js";
import type { BodyHolder } from "../body/unread-responses.js";
import { clientLeft } from "../client-left.js";
import type { Deadlines } from "../http1/deadlines.js";
import type { Peer } from "../http1/source.js";
import { StreamExchange, type StreamExchangeOwner } from "../stream-exchange.js";
import { responseFields } from "./response-fields.js";
import { Http2RequestSource, type Http2Target } from "./source.js";
import { StreamSocket } from "./stream-socket.js";
import { StreamWatch } from "./stream-watch.js";

/** The connection, as far as an exchange uses it. */
export interface ExchangeOwner extends StreamExchangeOwner, BodyHolder {
  readonly peer: Peer;
  /** Bytes of a body have arrived. */
  received(bytes: number): void;
  /** The application has responded: the handler is over. */
  settled(): void;
  /** The stream is closed. `broken` is true if the client has cancelled it, or has sent what is not valid on it. */
  over(exchange: Http2Exchange, broken: boolean): void;
  /** So many more bytes of a response wait for the client. */
  waits(change: number): void;
  /** A stream was broken off because its client does not take the response. */
  stalled(): void;
  /** True if a request has to wait for memory; `goOn` is called when there is some. */
  delays(goOn: () => void): boolean;
  /** No further stream is taken from this connection. */
  makeLast(): void;
}

const { NGHTTP2_NO_ERROR } = constants;
/** The rest of an unwanted body, up to which it is read and dropped. */
const maxDiscard = 64 * 1024;
/** A larger body is sent in slices: only they show that the client takes it. */
const maxWhole = 64 * 1024;
/** A shorter body counts as unread only if the client has not taken it by the next tick. */
const minCounted = 16 * 1024;
/** Milliseconds in which the end of a request without a body should follow its head. */
const endDelay = 50;

/** One request of HTTP/2 and its response. */
export class Http2Exchange extends StreamExchange<ExchangeOwner> {
  readonly stream: ServerHttp2Stream;
  readonly #watch: StreamWatch;
  /** We have ended the stream before the client has. */
  #cut = false;
  /** Runs the request: when there is memory, and its body begins, has turned out to be empty, or was waited for long enough. */
  #waiting: (() => void) | null = null;

  constructor(owner: ExchangeOwner, stream: ServerHttp2Stream) {
    super(owner, stream);
    this.stream = stream;
    this.#watch = new StreamWatch(stream);
    stream.on("error", ignore);
    stream.on("close", () => this.#closed());
  }

  /**
   * `length` is the Content-Length; -1 for a body without one, and null for a request without a body. Some clients send the
   * end of each request in an empty DATA frame: where a body is unlikely, the frame is waited for, so that there is none.
   * Not for long: other clients end their request only when they have the response.
   */
  run(head: Http2Target, raw: readonly string[], length: number | null, expectsContinue: boolean): void {
    if (length !== null) this.#listen(new BodyBuffer(this, length === -1 ? undefined : length));
    this.awaitsContinue = expectsContinue && length !== null;
    const isUnlikely = length === 0 || (length === -1 && (head.method === "GET" || head.method === "HEAD"));
    this.#waiting = () => this.begin(new Http2RequestSource(this.owner.peer, head, raw, this.body));
    if (isUnlikely && !expectsContinue) {
      // After a turn of the event loop: if it was blocked, the frame has come but is not read yet.
      setTimeout(() => setImmediate(() => this.#goOn()), endDelay);
    } else if (this.owner.peer.secure && length === null) {
      // TLS hands over each record by itself. A frame that came with this one, and breaks its stream, must not find it closed.
      setImmediate(() => this.#goOn());
    } else {
      this.#goOn();
    }
  }

  /** Called at every tick. */
  checkDeadlines(deadlines: Deadlines, quiet: boolean): void {
    this.bodyBehind();
    const ended = this.stream.writableEnded && !this.receiving;
    if (this.#watch.isStalled(deadlines.write, ended, quiet)) {
      this.#breakOff(new Error("the client does not take the response"));
      this.owner.stalled();
    } else if (this.isBodyLate(deadlines.body, deadlines.bodyTotal)) {
      // Not `writableEnded`: Node ends the response to a HEAD request before it has begun.
      if (this.responded && this.stream.writableEnded) this.#stopBody();
      else this.bodyBroken(httpError("REQUEST_TIMEOUT"));
    }
  }

  protected override get isGone(): boolean {
    return this.stream.destroyed || this.stream.closed;
  }

  protected override writeContinue(): void {
    if (!this.stream.closed) this.stream.additionalHeaders({ ":status": 100 });
  }

  override bodySent(): void {
    this.sender = null;
    this.#end();
  }

  override bodyBehind(): void {
    this.owner.waits(this.#watch.change());
  }

  override bodyFailed(error: unknown): void {
    super.bodyFailed(error);
    this.#breakOff(error);
  }

  protected override sendFailed(error: unknown): void {
    if (this.stream.headersSent) this.#breakOff(error);
    else super.sendFailed(error);
  }

  protected override send(response: Response): void {
    const { stream } = this;
    if (this.request?.source.wantsWebSocket === true) {
      if (response.upgrade?.direct !== undefined) {
        this.#upgrade(response, response.upgrade.direct);
        return;
      }
      // To the client, any success would be that of its handshake.
      if (response.status < 300) {
        discardBody(response);
        response = problemResponse(httpError("NOT_FOUND"));
      }
    }
    const { body, status } = response;
    if (status < 200) throw new Error(`status ${status} cannot end an exchange`);
    const isHead = this.request?.method === "HEAD";
    const { headers, length, close } = responseFields(response);
    const size = contentLength(response, isHead, length);
    if (size >= 0) headers["content-length"] = size;
    if (isHead || isBodiless(status) || body === null || size === 0) {
      stream.respond(headers, { endStream: true });
      discardBody(response);
      this.#end(false);
    } else if (typeof body === "string" || body instanceof Uint8Array) {
      stream.respond(headers);
      if (size > maxWhole)
        this.#sendInParts(new LargeBodySender(stream, this, this.owner, "", body, body.length === size));
      else {
        this.#end(true, body);
        if (size >= minCounted) this.bodyBehind();
      }
    } else {
      // A stream that is in use already throws here, before the head is sent: another response can still be sent.
      const framing = length === -1 ? "close" : "length";
      const sender = new StreamSender(stream, this, "", body as BodyStream, framing, length);
      stream.respond(headers);
      this.#sendInParts(sender);
    }
    if (close) this.owner.makeLast();
  }

  /** Hands the stream to another protocol, which finishes the request. */
  #upgrade(response: Response, accept: NonNullable<UpgradeCallback["direct"]>): void {
    const { headers } = responseFields(response);
    headers[":status"] = 200;
    this.stream.respond(headers);
    new StreamSocket(this.stream, this.owner).handTo(accept, () => this.bodyBehind());
    this.request = null;
  }

  #sendInParts(sender: BodySender): void {
    this.sender = sender;
    this.stream.on("drain", () => {
      this.#watch.progressed();
      this.bodyBehind();
      this.sender?.drained();
    });
    sender.start();
  }

  /** Ends the response. The rest of a body that is not read is dropped if it is short, else the client is told to stop. */
  #end(open = true, last?: string | Uint8Array): void {
    const { stream } = this;
    const body = this.body;
    if (open) {
      if (last === undefined) stream.end();
      else stream.end(last);
    }
    if (body === null || body.complete) return;
    const isLong = body.left > maxDiscard || this.awaitsContinue;
    body.drop();
    if (isLong) this.#stopBody();
  }

  /** Tells the client to send no more of its body: after the whole response, without an error (RFC 9113 section 8.1). */
  #stopBody(): void {
    this.#cut = true;
    this.stream.close(NGHTTP2_NO_ERROR);
  }

  /** Resets the stream. `close` with a code is no way to do that: it ends the response first, which then looks complete. */
  #breakOff(error: unknown): void {
    this.#cut = true;
    this.stream.destroy(isInstance(error, Error) ? error : new Error("the response failed"));
  }

  #listen(body: BodyBuffer): void {
    const { stream } = this;
    this.body = body;
    stream.on("data", (piece: Buffer) => {
      this.owner.received(piece.length);
      this.received(piece);
      this.#goOn();
    });
    stream.on("end", () => {
      // The stream ends in this way too when the client has cancelled it.
      if (stream.aborted || stream.rstCode !== NGHTTP2_NO_ERROR) {
        this.#lost();
        return;
      }
      body.finish();
      this.#goOn();
    });
    stream.on("aborted", () => this.#lost());
  }

  /** Runs a request that waited, unless it was refused in between. */
  #goOn(): void {
    const begin = this.#waiting;
    if (begin === null || this.responded || this.over) return;
    if (this.owner.delays(() => this.#goOn())) return;
    this.#waiting = null;
    if (this.body?.complete && this.body.arrived === 0) this.body = null;
    begin();
  }

  #lost(): void {
    if (this.receiving) this.body?.fail(httpError("INCOMPLETE_BODY"));
    if (!this.#cut) this.request?.abort(clientLeft());
  }

  #closed(): void {
    const { stream } = this;
    // Not `writableFinished`: of a request with a body, Node closes the stream before the last write is over. A client that
    // cancels without an error is left to nghttp2, which counts its RST_STREAM frames.
    const complete = this.responded && stream.writableEnded && stream.rstCode === NGHTTP2_NO_ERROR && !stream.aborted;
    this.over = true;
    if (this.#waiting !== null) this.owner.settled();
    this.owner.waits(this.#watch.change(0));
    this.owner.over(this, !complete && !this.#cut);
    if (!complete) this.abandon();
    if (this.settled) this.request?.finish();
  }

  protected override settle(response: Response): void {
    this.owner.settled();
    super.settle(response);
  }
}

function ignore(): void {}
