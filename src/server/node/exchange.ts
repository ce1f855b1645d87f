import type { IncomingMessage, ServerResponse } from "node:http";
import { type HttpError, httpError } from "../../errors/http-error.js";
import { discardBody } from "../../http/discard.js";
import type { BodyStream, Response } from "../../http/response.js";
import { isBodiless, reasonPhrase } from "../../http/status.js";
import { BodyBuffer } from "../body/body-buffer.js";
import { contentLength } from "../body/body-size.js";
import { type BodySender, LargeBodySender, StreamSender } from "../body/sender.js";
import type { UnreadResponses } from "../body/unread-responses.js";
import { WriteWatch } from "../body/write-watch.js";
import { clientLeft } from "../client-left.js";
import { cutOff } from "../cut-off.js";
import { StreamExchange, type StreamExchangeOwner } from "../stream-exchange.js";
import { unwatchClose, watchClose } from "./closed-sockets.js";
import { planResponse } from "./response-plan.js";
import { NodeRequestSource } from "./source.js";

/** The server, as far as an exchange uses it. */
export interface ExchangeOwner extends StreamExchangeOwner {
  readonly draining: boolean;
  readonly unread: UnreadResponses;
  began(exchange: NodeExchange): void;
  over(exchange: NodeExchange): void;
}

const maxDiscard = 64 * 1024;
const maxWhole = 256 * 1024;
const lingerMilliseconds = 2000;

/** Sockets on which the last response has been given. */
const ended = new WeakSet<object>();

/**
 * True if a response that closes the connection has been given on this socket. node:http still reads the requests behind
 * it, until the socket is closed. A response to one of these that ends while the socket closes fails an assertion of
 * node:http, outside of any handler: it would end the process.
 */
export function hasEnded(socket: object): boolean {
  return ended.has(socket);
}

/** One request whose head node:http has read, and its response. */
export class NodeExchange extends StreamExchange<ExchangeOwner> {
  readonly message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #watch: WriteWatch;
  #keep = true;
  /** The connection ends when the response has been sent. */
  #endsSocket = false;

  constructor(owner: ExchangeOwner, message: IncomingMessage, response: ServerResponse, expectsContinue: boolean) {
    super(owner, message);
    this.message = message;
    this.#response = response;
    this.awaitsContinue = expectsContinue && message.httpVersion === "1.1";
    this.#watch = new WriteWatch(message.socket, owner.unread);
    if (hasBody(message)) this.#listen((this.body = new BodyBuffer(this, lengthOf(message))));
    response.on("close", () => this.closed());
    watchClose(message.socket, this);
    response.on("drain", () => {
      this.#watch.count();
      this.sender?.drained();
    });
    response.on("error", ignore);
    owner.began(this);
  }

  override get receiving(): boolean {
    // The parser is ahead of the stream: a body that it has read may not have been given to us yet.
    return super.receiving && !this.message.complete;
  }

  run(target: string): void {
    this.begin(new NodeRequestSource(this.message, target, this.body, false));
  }

  /** Responds with an error of the transport's own and closes the connection; a response of the application is ignored. */
  override refuse(error: HttpError): void {
    this.#keep = false;
    super.refuse(error);
  }

  override bodyBroken(error: HttpError): void {
    this.#keep = false;
    super.bodyBroken(error);
  }

  /** No request is taken from this connection any more. */
  makeLast(): void {
    this.#keep = false;
    // node:http reports an error for each chunk behind the first bad byte: one listener is enough.
    if (!this.responded || this.#endsSocket) return;
    this.#endsSocket = true;
    this.#response.once("finish", () => this.message.socket.end());
  }

  /** Called at every tick. */
  checkDeadlines(body: number, bodyTotal: number, write: number): void {
    if (this.#watch.isStalled(write)) {
      this.message.socket.destroy();
    } else if (this.isBodyLate(body, bodyTotal)) {
      if (this.responded) this.message.socket.destroy();
      else this.bodyBroken(httpError("REQUEST_TIMEOUT"));
    }
  }

  /** The response has been sent, or never will be. */
  closed(): void {
    if (this.over) return;
    this.over = true;
    unwatchClose(this.message.socket, this);
    this.owner.over(this);
    this.#watch.count();
    if (!this.#response.writableFinished) this.abandon();
    if (this.settled) this.request?.finish();
  }

  protected override get isGone(): boolean {
    return this.#response.destroyed;
  }

  protected override writeContinue(): void {
    this.#response.writeContinue();
  }

  override bodySent(): void {
    this.sender = null;
    // Its head has not told the client that it is the last response.
    if (this.owner.draining) this.makeLast();
    this.#end();
  }

  override bodyBehind(): void {
    this.#watch.count();
  }

  override bodyFailed(error: unknown): void {
    super.bodyFailed(error);
    // Node.js keeps what was written in this turn until its end.
    const { socket, httpVersion } = this.message;
    setImmediate(() => cutOff(socket, httpVersion === "1.0" && !("encrypted" in socket)));
  }

  protected override send(response: Response): void {
    const out = this.#response;
    const { body, status } = response;
    const isHead = this.message.method === "HEAD";
    const plan = planResponse(response);
    if (plan.close || this.owner.draining || !this.#canSkipBody()) this.#keep = false;
    const size = contentLength(response, isHead, plan.length);
    if (size >= 0) plan.lines.push("Content-Length", String(size));
    if (!this.#keep) {
      plan.lines.push("Connection", "close");
      ended.add(this.message.socket);
    }
    const bodiless = isHead || isBodiless(status) || body === null;
    const isWhole = typeof body === "string" || body instanceof Uint8Array;
    const framing = plan.length === -1 ? "close" : "length";
    // A stream that is in use already throws here, before the head is written: another response can still be sent.
    const stream =
      bodiless || isWhole ? null : new StreamSender(out, this, "", body as BodyStream, framing, plan.length);
    out.sendDate = !plan.dated;
    out.writeHead(status, reasonPhrase(status), plan.lines);
    if (stream !== null) {
      setImmediate(flushHead, out);
      this.#sendInParts(stream);
    } else if (bodiless) {
      discardBody(response);
      this.#end();
    } else {
      const data = sendable(body as string | Uint8Array, size);
      if (size > maxWhole) this.#sendInParts(new LargeBodySender(out, this, this.#watch, "", data, true));
      else this.#end(data);
    }
  }

  #sendInParts(sender: BodySender): void {
    this.sender = sender;
    sender.start();
  }

  /** Ends the response. A client that still sends a body that is not read gets time to read the response first. */
  #end(last?: string | Uint8Array): void {
    const out = this.#response;
    const body = this.body;
    if (body && !body.complete) body.drop();
    if (this.#keep || !body || body.complete) {
      if (last === undefined) out.end();
      else out.end(last, "latin1");
      this.#watch.count();
      return;
    }
    if (last === undefined) out.flushHeaders();
    else out.write(last, "latin1");
    const end = () => out.end();
    const timer = setTimeout(end, lingerMilliseconds);
    timer.unref();
    this.message.once("close", () => {
      clearTimeout(timer);
      end();
    });
    this.message.resume();
  }

  #canSkipBody(): boolean {
    return !this.body || (this.body.left <= maxDiscard && !this.awaitsContinue);
  }

  #listen(body: BodyBuffer): void {
    const { message } = this;
    message.on("data", (piece: Buffer) => this.received(piece));
    message.on("end", () => body.finish());
    message.on("error", () => this.#lost());
    message.on("close", () => this.#lost());
  }

  #lost(): void {
    if (!this.receiving) return;
    this.body?.fail(httpError("INCOMPLETE_BODY"));
    this.request?.abort(clientLeft());
  }
}

function hasBody(message: IncomingMessage): boolean {
  return message.headers["transfer-encoding"] !== undefined || (lengthOf(message) ?? 0) > 0;
}

function lengthOf(message: IncomingMessage): number | undefined {
  const length = message.headers["content-length"];
  return length === undefined ? undefined : Number(length);
}

/** Text as node:http must get it: written as utf8, it would encode the head in the same way, which is latin1. */
function sendable(body: string | Uint8Array, size: number): string | Uint8Array {
  return typeof body === "string" && body.length !== size ? Buffer.from(body, "utf8") : body;
}

function flushHead(out: ServerResponse): void {
  if (!out.destroyed && !out.writableEnded) out.flushHeaders();
}

function ignore(): void {}
