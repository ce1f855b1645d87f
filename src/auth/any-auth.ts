import { UnauthorizedError } from "../errors/http-error.js";
import type { Request } from "../http/request.js";
import { isPromise } from "../kit/is-promise.js";
import { ValueError } from "../kit/value-error.js";
import type { StoreSource } from "../pipeline/shared-stores.js";
import { Auth } from "./auth.js";
import { unauthorized } from "./unauthorized.js";

/**
 * Accepts requests that one of several authentication middlewares accepts, tried in the order given. Only its own
 * skipped paths apply, not theirs.
 */
export class AnyAuth extends Auth {
  readonly name = "any-auth";
  /** For the documentation of an API: one of these is needed. */
  readonly alternatives: readonly Auth[];

  constructor(...alternatives: Auth[]) {
    super();
    if (alternatives.length < 2 || !alternatives.every((item) => item instanceof Auth)) {
      throw new ValueError("AnyAuth takes two or more authentication middlewares");
    }
    this.alternatives = alternatives;
  }

  override prepare(stores: StoreSource): void {
    for (const alternative of this.alternatives) alternative.prepare?.(stores);
  }

  authenticate(request: Request): void | Promise<void> {
    return this.#ask(request, 0, []);
  }

  #ask(request: Request, from: number, challenges: string[]): void | Promise<void> {
    for (let i = from; i < this.alternatives.length; i++) {
      let verdict: void | Promise<void>;
      try {
        verdict = this.alternatives[i]!.authenticate(request);
      } catch (error) {
        challenges.push(challengeOf(error));
        continue;
      }
      if (!isPromise(verdict)) return undefined;
      return verdict.then(undefined, (error: unknown) => {
        challenges.push(challengeOf(error));
        return this.#ask(request, i + 1, challenges);
      });
    }
    throw unauthorized("Valid credentials are required.", [...new Set(challenges)].join(", "));
  }
}

/** Other errors are rethrown: an engine that is down must not look like a wrong password. */
function challengeOf(error: unknown): string {
  if (!(error instanceof UnauthorizedError)) throw error;
  return error.headers?.["WWW-Authenticate"] ?? "Bearer";
}
