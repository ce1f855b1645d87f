import type { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { httpError } from "../../errors/http-error.js";
import { problemResponse } from "../../errors/pages/problem.js";
import type { ErrorCode } from "../../errors/table.js";
import { reportBrokenBody } from "../../http/aborted.js";
import { discardBody } from "../../http/discard.js";
import { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import type { RequestSource } from "../../http/source.js";
import { originForm } from "../authority.js";
import { countFor } from "../body/unread-responses.js";
import { clientLeft } from "../client-left.js";
import { ResponseWriter, type WriterContext, type WriterHost } from "../http1/response-writer.js";
import { defaultLimits } from "../limits.js";
import { type ExchangeOwner, hasEnded, NodeExchange } from "./exchange.js";
import { NodeRequestSource } from "./source.js";

/** Milliseconds that a client gets to read the last response and to end its side. */
const lingerMilliseconds = 2000;
/** Milliseconds without a byte in either direction. */
const idleMilliseconds = 30_000;

/** Handles requests that an http.Server has read. */
export type RequestListener = (message: IncomingMessage, response: ServerResponse) => void;
/** Handles requests for another protocol; for the 'upgrade' event of an http.Server. */
export type UpgradeListener = (message: IncomingMessage, socket: Duplex, head: Buffer) => void;

export function createRequestListener(
  owner: ExchangeOwner,
  limits: HeadLimits = defaultLimits,
  expectsContinue = false,
): RequestListener {
  return (message, response) => {
    if (hasEnded(message.socket)) return;
    const exchange = new NodeExchange(owner, message, response, expectsContinue);
    const checked = checkRequest(message, limits);
    if (typeof checked === "string") exchange.refuse(httpError(checked));
    else exchange.run(checked.target);
  };
}

export interface UpgradeOwner extends WriterContext {
  readonly dispatch: ExchangeOwner["dispatch"];
  report(error: unknown): void;
  /** The socket now speaks another protocol. */
  upgraded(socket: Duplex): void;
}

/**
 * node:http stops reading requests from a connection that asks for another protocol, so the response is the last one there
 * when the application stays with HTTP.
 */
export function createUpgradeListener(owner: UpgradeOwner, limits: HeadLimits = defaultLimits): UpgradeListener {
  return (message, socket, head) => {
    socket.on("error", ignore);
    const { method = "GET", httpVersion } = message;
    const exchange = new RawExchange(owner, { method, old: httpVersion === "1.0" }, socket, head);
    const checked = checkRequest(message, limits);
    if (typeof checked === "string") {
      exchange.send(problemResponse(httpError(checked)));
      return;
    }
    const wantsWebSocket = method === "GET" && httpVersion === "1.1" && asksForWebSocket(message);
    exchange.run(new NodeRequestSource(message, checked.target, null, wantsWebSocket));
  };
}

/** The parts of a request line that its response depends on. */
export interface RequestLine {
  readonly method: string;
  /** The request is HTTP/1.0. */
  readonly old: boolean;
}

/** The last request on a socket that node:http no longer reads. */
export class RawExchange implements WriterHost {
  readonly #owner: UpgradeOwner;
  readonly #line: RequestLine;
  readonly #socket: Duplex;
  readonly #head: Buffer;
  readonly #writer: ResponseWriter;
  #request: Request | null = null;
  readonly #onClose = (): void => {
    this.#writer.cancel();
    this.#request?.abort(clientLeft());
  };
  readonly #onDrain = (): void => this.#writer.drained();

  /** `head`: bytes that were received behind the request. */
  constructor(owner: UpgradeOwner, line: RequestLine, socket: Duplex, head: Buffer) {
    this.#owner = owner;
    this.#line = line;
    this.#socket = socket;
    this.#head = head;
    this.#writer = new ResponseWriter(socket, owner, this);
    socket.on("close", this.#onClose);
    socket.on("drain", this.#onDrain);
  }

  run(source: RequestSource): void {
    const request = new Request(source);
    this.#request = request;
    Promise.resolve()
      .then(() => this.#owner.dispatch(request))
      .then((response) => this.send(response))
      .catch((error: unknown) => {
        this.#owner.report(error);
        this.#socket.destroy();
      });
  }

  send(response: Response): void {
    if (this.#socket.destroyed) {
      discardBody(response);
      this.#request?.finish();
      return;
    }
    if (response.status === 101 && response.upgrade) {
      this.#socket.off("close", this.#onClose);
      this.#socket.off("drain", this.#onDrain);
      this.#owner.upgraded(this.#socket);
      response.upgrade(this.#socket, this.#head, countFor(this.#socket, this.#owner.unread));
      return;
    }
    this.#socket.once("close", () => this.#request?.finish());
    if (this.#socket instanceof Socket) this.#socket.setTimeout(idleMilliseconds, () => this.#socket.destroy());
    this.#socket.resume();
    this.#writer.send(response, this.#line.method === "HEAD", this.#line.old, false);
  }

  responded(): void {
    this.#socket.end();
    // A client that does not end its side gets no more time than after a refusal.
    const timer = setTimeout(() => this.#socket.destroy(), lingerMilliseconds);
    timer.unref();
    this.#socket.once("close", () => clearTimeout(timer));
  }

  responseFailed(error: unknown): void {
    reportBrokenBody(this.#request, error, (failure) => this.#owner.report(failure));
    this.#socket.destroy();
  }
}

function asksForWebSocket(message: IncomingMessage): boolean {
  const protocols = (message.headers.upgrade ?? "").toLowerCase().split(",");
  return protocols.some((protocol) => protocol.trim() === "websocket");
}

function ignore(): void {}

interface HeadLimits {
  readonly maxHeaders: number;
  readonly maxTargetSize: number;
}

const host = /^(?:\[[0-9a-f:.]+\]|[0-9a-z\-._~%!$&'()*+,;=]+)(?::\d{0,5})?$/i;
const visible = /^[\x21\x22\x24-\x7e]+$/;
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The request target in origin form, or the error of a request that node:http accepts and we refuse. */
function checkRequest(message: IncomingMessage, limits: HeadLimits): { target: string } | ErrorCode {
  const url = message.url ?? "";
  if (url.length > limits.maxTargetSize) return "URI_TOO_LONG";
  if (message.httpVersion !== "1.1" && message.httpVersion !== "1.0") return "HTTP_VERSION_NOT_SUPPORTED";
  if (message.rawHeaders.length / 2 > limits.maxHeaders) return "HEADERS_TOO_LARGE";
  if (!visible.test(url)) return "MALFORMED_REQUEST";
  const old = message.httpVersion === "1.0";
  if (!hasSoundFraming(message.rawHeaders, old)) return "MALFORMED_REQUEST";
  const hosts = valuesOf(message.rawHeaders, "host");
  if (hosts.length > 1 || (hosts.length === 0 && !old)) return "MALFORMED_REQUEST";
  if (hosts.length === 1 && !host.test(hosts[0]!)) return "MALFORMED_REQUEST";
  if (url.startsWith("/")) return { target: url };
  if (url === "*") return message.method === "OPTIONS" ? { target: url } : "MALFORMED_REQUEST";
  const target = originForm(url, hosts[0]);
  return target === null ? "MALFORMED_REQUEST" : { target };
}

function hasSoundFraming(lines: readonly string[], old: boolean): boolean {
  for (let i = 1; i < lines.length; i += 2) if (!fieldValue.test(lines[i]!)) return false;
  const lengths = valuesOf(lines, "content-length");
  const codings = valuesOf(lines, "transfer-encoding");
  if (lengths.length + codings.length > 1) return false;
  if (lengths.length === 1 && !/^\d{1,15}$/.test(lengths[0]!)) return false;
  return codings.length === 0 || (!old && codings[0]!.toLowerCase() === "chunked");
}

function valuesOf(lines: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < lines.length; i += 2) if (lines[i]!.toLowerCase() === name) values.push(lines[i + 1]!);
  return values;
}
