import type { Duplex } from "node:stream";
import { BodyMemory } from "../body/body-memory.js";
import { UnreadResponses } from "../body/unread-responses.js";
import { Clock } from "../clock.js";
import { FieldLines, PreparedHeads } from "../http1/response-head.js";
import { defaultLimits } from "../limits.js";
import type { Dispatch } from "../transport.js";
import type { ExchangeOwner } from "./exchange.js";
import {
  createRequestListener,
  createUpgradeListener,
  type RequestListener,
  type UpgradeListener,
  type UpgradeOwner,
} from "./listener.js";

/** Handles the requests of an http.Server of the caller. The timeouts and limits of that server apply. */
export function createNodeListener(dispatch: Dispatch, onError?: (error: unknown) => void): RequestListener {
  return createRequestListener(new MountOwner(dispatch, onError));
}

/** The same for its 'upgrade' event. */
export function createNodeUpgradeListener(dispatch: Dispatch, onError?: (error: unknown) => void): UpgradeListener {
  return createUpgradeListener(new MountOwner(dispatch, onError));
}

class MountOwner implements ExchangeOwner, UpgradeOwner {
  readonly dispatch: Dispatch;
  readonly draining = false;
  readonly clock = new Clock(defaultLimits, () => {});
  readonly heads = new PreparedHeads();
  readonly fieldLines = new FieldLines();
  readonly bodyMemory = new BodyMemory(defaultLimits.maxBodyMemory);
  readonly unread = new UnreadResponses(defaultLimits.maxUnreadMemory, undefined);
  readonly #onError: ((error: unknown) => void) | undefined;

  constructor(dispatch: Dispatch, onError: ((error: unknown) => void) | undefined) {
    this.dispatch = dispatch;
    this.#onError = onError;
    this.clock.start();
  }

  report(error: unknown): void {
    this.#onError?.(error);
  }

  refused(): void {}
  began(): void {}
  over(): void {}
  upgraded(_socket: Duplex): void {}
}
