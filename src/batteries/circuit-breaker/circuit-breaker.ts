import { isInstance } from "../../errors/describe.js";
import { HttpError, httpError } from "../../errors/http-error.js";
import { withoutStack } from "../../errors/without-stack.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import type { Logger } from "../../kit/logger.js";
import { milliseconds } from "../../kit/time/duration.js";
import { Pace } from "../../kit/time/pace.js";
import type { Middleware, OnError, Run } from "../../pipeline/middleware.js";
import { storeReply } from "../../pipeline/store-reply.js";
import type { BreakerSettings } from "./options.js";
import type { Admission, Breaker, BreakerStore, Outcome } from "./store.js";

type Answer = Response | Promise<Response>;

/** Stops requests to a part that fails repeatedly, and tests with a few requests if it has recovered. */
export class CircuitBreaker implements Pick<Middleware, "wrap"> {
  readonly breaker: Breaker;
  readonly #route: string;
  readonly #failureCodes: ReadonlySet<number>;
  readonly #logger: Logger;
  readonly #pace = new Pace();

  constructor(route: string, settings: BreakerSettings, store: BreakerStore, logger: Logger) {
    const { failureThreshold, resetTimeout, halfOpenTarget, failureCodes } = settings;
    const policy = { route, failureThreshold, resetMs: milliseconds(resetTimeout), halfOpenTarget };
    this.#route = route;
    this.#failureCodes = new Set(failureCodes);
    this.#logger = logger;
    this.breaker = store.breaker(policy, (state) => {
      if (state === "open") logger.warn(`the circuit of ${route} is open for ${resetTimeout} s: it keeps failing`);
      else logger.info(`the circuit of ${route} is ${state}`);
    });
  }

  wrap(next: Run, onError: OnError): Run {
    const proceed = (request: Request, { ticket, waitMs }: Admission): Answer => {
      if (ticket === 0) return onError(request, circuitOpen(waitMs), "sync");
      const answer = next(request);
      if (answer instanceof Promise) return this.#watch(request, answer, ticket);
      const reported = this.#report(request, ticket, this.#outcomeOf(request, answer.status));
      return reported === undefined ? answer : reported.then(() => answer);
    };
    const unknown = (request: Request, error: unknown): Answer => {
      this.#complain(error);
      return next(request);
    };
    return (request) => {
      let admission: Admission | Promise<Admission>;
      try {
        admission = this.breaker.admit();
      } catch (error) {
        return unknown(request, error);
      }
      if (!(admission instanceof Promise)) return proceed(request, admission);
      return storeReply(request, admission).then(
        (value) => proceed(request, value),
        (error: unknown) => unknown(request, error),
      );
    };
  }

  /** A request may end before its response: its time is up, or the client has disconnected. */
  #watch(request: Request, answer: Promise<Response>, ticket: number): Promise<Response> {
    let reported = false;
    const report = (outcome: Outcome): Promise<void> | undefined => {
      if (reported) return undefined;
      reported = true;
      return this.#report(request, ticket, outcome);
    };
    request.onAbort((reason) => void report(this.#outcomeOfAbort(reason)));
    return answer.then((response) => {
      const reporting = report(this.#outcomeOf(request, response.status));
      return reporting === undefined ? response : reporting.then(() => response);
    });
  }

  #outcomeOf(request: Request, status: number): Outcome {
    if (this.#failureCodes.has(status)) return request.aborted ? "neither" : "failure";
    return status < 400 ? "success" : "neither";
  }

  /** A timeout is a failure of the handler; a client that left proves nothing. */
  #outcomeOfAbort(reason: unknown): Outcome {
    const timedOut = isInstance(reason, HttpError) && reason.code === "GATEWAY_TIMEOUT";
    return timedOut && this.#failureCodes.has(504) ? "failure" : "neither";
  }

  /** A response waits for its report: the next request of the same client finds the circuit in its new state. */
  #report(request: Request, ticket: number, outcome: Outcome): Promise<void> | undefined {
    try {
      const reported = this.breaker.report(ticket, outcome);
      if (!(reported instanceof Promise)) return undefined;
      return storeReply(request, reported).catch((error: unknown) => this.#complain(error));
    } catch (error) {
      this.#complain(error);
    }
    return undefined;
  }

  #complain(error: unknown): void {
    const more = this.#pace.next();
    if (more !== null)
      this.#logger.error(`the store of the circuit of ${this.#route} failed: requests pass`, { error, ...more });
  }
}

function circuitOpen(waitMs: number): HttpError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return withoutStack(() => httpError("CIRCUIT_OPEN", undefined, { headers: { "Retry-After": String(seconds) } }));
}
