import type { HttpError } from "../../errors/http-error.js";
import { failureResponse } from "../../errors/pages/failure.js";
import { problemResponse } from "../../errors/pages/problem.js";
import { discardBody } from "../../http/discard.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import type { UpgradeCallback } from "../../http/source.js";
import { isPromise } from "../../kit/is-promise.js";
import type { Dispatch } from "../transport.js";
import type { ResponseWriter } from "./response-writer.js";

/** The server, as far as an exchange uses it. */
export interface ExchangeHost {
  readonly dispatch: Dispatch;
  /** No further requests are taken: responses say so. */
  readonly draining: boolean;
  report(error: unknown): void;
  /** A request is refused by the transport itself. */
  refused(error: HttpError): void;
}

/** The connection, as far as an exchange uses it. */
export interface ExchangeOwner {
  /** True if the rest of the body can be read and dropped, so that the next request is found behind it. */
  canSkipBody(): boolean;
  /** The response hands the socket to another protocol. */
  upgrade(callback: UpgradeCallback): void;
  /** Our own code failed. */
  broken(error: unknown): void;
}

/** The request of a connection that waits for its response. There is one at a time, so one exchange serves them all. */
export class Exchange {
  /** The request lets the connection stay open. */
  keepAlive = true;
  /** The request is HTTP/1.0. */
  old = false;
  readonly #host: ExchangeHost;
  readonly #owner: ExchangeOwner;
  readonly #writer: ResponseWriter;
  #request: Request | null = null;
  /** The request that the application still works on; its response may come after the exchange is over. */
  #unsettled: Request | null = null;
  #onResponse: ((response: Response) => void) | null = null;
  #onRejection: ((error: unknown) => void) | null = null;

  constructor(host: ExchangeHost, owner: ExchangeOwner, writer: ResponseWriter) {
    this.#host = host;
    this.#owner = owner;
    this.#writer = writer;
  }

  get request(): Request | null {
    return this.#request;
  }

  /** Gives the request to the application, and sends the response if it is ready at once. */
  start(request: Request): void {
    this.#request = request;
    let result: Response | Promise<Response>;
    try {
      result = this.#host.dispatch(request);
    } catch (error) {
      result = this.#failure(error);
    }
    if (isPromise<Response>(result)) this.#await(result);
    else this.respond(result);
  }

  respond(response: Response): void {
    if (response.status === 101 && response.upgrade) {
      this.#owner.upgrade(response.upgrade);
      return;
    }
    const isHead = this.#request!.method === "HEAD";
    const keep = this.keepAlive && !this.#host.draining && this.#owner.canSkipBody();
    try {
      if (response.status < 200) throw new Error(`status ${response.status} cannot end an exchange`);
      this.#writer.send(response, isHead, this.old, keep);
    } catch (error) {
      discardBody(response);
      this.#writer.send(this.#failure(error), isHead, this.old, keep);
    }
  }

  /** Responds to a request that is not valid; it is the last one. */
  refuse(error: HttpError): void {
    const request = this.#request;
    this.keepAlive = false;
    this.#host.refused(error);
    this.#writer.send(problemResponse(error), request?.method === "HEAD", false, false);
    request?.abort(error);
  }

  /** The response has been given, or cannot be given any more. */
  over(): void {
    const request = this.#request;
    this.#request = null;
    if (request !== null && request !== this.#unsettled) request.finish();
  }

  /** The socket belongs to another protocol now: the request continues without an exchange. */
  handedOver(): void {
    this.#request = null;
  }

  #await(result: Promise<Response>): void {
    this.#unsettled = this.#request;
    // One pair of functions serves the whole connection.
    this.#onResponse ??= (response) => this.#settle(response);
    this.#onRejection ??= (error) => this.#settle(this.#failure(error));
    result.then(this.#onResponse, this.#onRejection);
  }

  #settle(response: Response): void {
    const request = this.#unsettled;
    this.#unsettled = null;
    if (this.#request === null) {
      discardBody(response);
      request?.finish();
      return;
    }
    try {
      this.respond(response);
    } catch (error) {
      this.#owner.broken(error);
    }
  }

  /** The response to a request that our own code failed at. */
  #failure(error: unknown): Response {
    this.#host.report(error);
    return failureResponse();
  }
}
