import type { Readable } from "node:stream";
import { type HttpError, httpError } from "../errors/http-error.js";
import { failureResponse } from "../errors/pages/failure.js";
import { problemResponse } from "../errors/pages/problem.js";
import { reportBrokenBody } from "../http/aborted.js";
import { discardBody } from "../http/discard.js";
import { Request } from "../http/request.js";
import type { Response } from "../http/response.js";
import type { RequestSource } from "../http/source.js";
import { isPromise } from "../kit/is-promise.js";
import type { BodyBuffer, BodyHost } from "./body/body-buffer.js";
import type { BodyMemory } from "./body/body-memory.js";
import { BodyPace } from "./body/body-pace.js";
import type { BodySender, SenderHost } from "./body/sender.js";
import { clientLeft } from "./client-left.js";
import type { Dispatch } from "./transport.js";

/** The server or connection, as far as every exchange uses it. */
export interface StreamExchangeOwner {
  readonly dispatch: Dispatch;
  readonly bodyMemory: BodyMemory;
  report(error: unknown): void;
  /** A request is refused by the transport itself. */
  refused(error: HttpError): void;
}

/** One request and its response, where Node gives a stream for each request: the common part of node:http and HTTP/2. */
export abstract class StreamExchange<Owner extends StreamExchangeOwner> implements BodyHost, SenderHost {
  protected body: BodyBuffer | null = null;
  protected request: Request | null = null;
  /** The client waits for permission to send its body. */
  protected awaitsContinue = false;
  protected responded = false;
  /** False while the application works on the request. */
  protected settled = true;
  /** The stream is closed. */
  protected over = false;
  protected sender: BodySender | null = null;
  readonly #pace = new BodyPace();
  #paused = false;

  constructor(
    protected readonly owner: Owner,
    private readonly incoming: Readable,
  ) {}

  /** True if no response can be sent any more. */
  protected abstract get isGone(): boolean;
  protected abstract send(response: Response): void;
  protected abstract writeContinue(): void;
  abstract bodySent(): void;
  abstract bodyBehind(): void;

  get bodyMemory(): BodyMemory {
    return this.owner.bodyMemory;
  }

  /** True if the body is still arriving. */
  get receiving(): boolean {
    return this.body !== null && !this.body.complete;
  }

  /** Gives the request to the application; its response, or its failure, may come at once. */
  protected begin(source: RequestSource): void {
    const request = new Request(source);
    this.request = request;
    this.settled = false;
    const fail = (error: unknown): void => {
      this.owner.report(error);
      this.settle(failureResponse());
    };
    try {
      const result = this.owner.dispatch(request);
      if (isPromise<Response>(result)) result.then((response) => this.settle(response), fail);
      else this.settle(result);
    } catch (error) {
      fail(error);
    }
  }

  protected settle(response: Response): void {
    this.settled = true;
    this.respond(response);
    if (this.over) this.request?.finish();
  }

  respond(response: Response): void {
    if (this.responded || this.isGone) {
      discardBody(response);
      return;
    }
    this.responded = true;
    try {
      this.send(response);
    } catch (error) {
      discardBody(response);
      this.owner.report(error);
      this.sendFailed(error);
    }
  }

  protected sendFailed(_error: unknown): void {
    this.send(failureResponse());
  }

  /** Responds with an error of the transport's own; a response of the application is ignored. */
  refuse(error: HttpError): void {
    this.owner.refused(error);
    this.respond(problemResponse(error));
    this.request?.abort(error);
  }

  /** The rest of the body cannot be had: a handler that reads it gets the error, else the request is refused here. */
  bodyBroken(error: HttpError): void {
    this.body?.fail(error);
    if (!this.responded && !this.body?.engaged) this.refuse(error);
    else if (error.code === "INCOMPLETE_BODY") this.request?.abort(clientLeft());
  }

  /** The client has left before all of the response was sent. */
  protected abandon(): void {
    this.responded = true;
    this.sender?.cancel();
    if (this.receiving) this.body!.fail(httpError("INCOMPLETE_BODY"));
    this.request?.abort(clientLeft());
  }

  /** Called at every tick: true if the body arrives too slowly. */
  protected isBodyLate(ticks: number, totalTicks: number): boolean {
    if (!this.receiving || this.#paused || this.awaitsContinue) return false;
    return this.#pace.isLate(this.body!, ticks, totalTicks);
  }

  protected received(piece: Buffer): void {
    this.body!.add(piece);
    if (!this.body!.full) return;
    this.#paused = true;
    this.incoming.pause();
  }

  bodyWanted(): void {
    this.#pace.restart();
    if (!this.awaitsContinue) return;
    this.awaitsContinue = false;
    if (!this.responded) this.writeContinue();
  }

  bodyDrained(): void {
    if (!this.#paused || this.body?.full) return;
    this.#paused = false;
    this.incoming.resume();
  }

  bodyFailed(error: unknown): void {
    this.sender = null;
    reportBrokenBody(this.request, error, (failure) => this.owner.report(failure));
  }
}
