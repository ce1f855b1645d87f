import { perProcess } from "../../pipeline/shared-stores.js";
import type {
  Admission,
  Breaker,
  BreakerPolicy,
  BreakerSnapshot,
  BreakerState,
  BreakerStore,
  Outcome,
} from "./store.js";

/** Milliseconds after which to try again while all probes are on their way. */
export const probesBusyMs = 1000;

export interface BreakerView {
  readonly state: BreakerState;
  readonly ticket: number;
  readonly failures: number;
  readonly waitMs: number;
}

/** The states of a circuit and the transitions between them. */
export class MemoryBreaker implements Breaker {
  #state: BreakerState = "closed";
  /**
   * Each admitted call carries the number of the state in which it was admitted. A report that arrives after the state
   * has changed is ignored.
   */
  #pass: Admission = { ticket: 1, waitMs: 0 };
  #failures = 0;
  #successes = 0;
  #probes = 0;
  #openedAt = 0;

  constructor(
    private readonly policy: BreakerPolicy,
    private readonly onChange: (state: BreakerState) => void,
  ) {}

  admit(): Admission {
    if (this.#state === "closed") return this.#pass;
    const waitMs = this.#remaining();
    if (waitMs > 0) return { ticket: 0, waitMs };
    if (this.#state === "open") this.#become("half-open");
    if (this.#probes >= this.policy.halfOpenTarget) return { ticket: 0, waitMs: probesBusyMs };
    this.#probes++;
    return this.#pass;
  }

  report(ticket: number, outcome: Outcome): void {
    if (ticket !== this.#pass.ticket) return;
    if (this.#state === "half-open") this.#reportProbe(outcome);
    else if (outcome === "success") this.#failures = 0;
    else if (outcome === "failure" && ++this.#failures >= this.policy.failureThreshold) this.#become("open");
  }

  /** The state for another process, which admits requests by it: the ticket, and the time for which it is open. */
  view(): BreakerView {
    return { state: this.#state, ticket: this.#pass.ticket, failures: this.#failures, waitMs: this.#remaining() };
  }

  snapshot(): BreakerSnapshot {
    const waitMs = this.#remaining();
    return {
      route: this.policy.route,
      state: this.#state === "open" && waitMs === 0 ? "half-open" : this.#state,
      failures: this.#failures,
      successes: this.#successes,
      retry_after: Math.ceil(waitMs / 1000),
    };
  }

  #reportProbe(outcome: Outcome): void {
    this.#probes--;
    if (outcome === "failure") this.#become("open");
    else if (outcome === "success" && ++this.#successes >= this.policy.halfOpenTarget) this.#become("closed");
  }

  #become(state: BreakerState): void {
    this.#state = state;
    this.#pass = { ticket: this.#pass.ticket + 1, waitMs: 0 };
    this.#failures = 0;
    this.#successes = 0;
    this.#probes = 0;
    if (state === "open") this.#openedAt = performance.now();
    this.onChange(state);
  }

  /** Milliseconds for which the circuit stays open. */
  #remaining(): number {
    if (this.#state !== "open") return 0;
    return Math.max(0, this.#openedAt + this.policy.resetMs - performance.now());
  }
}

export class MemoryBreakerStore implements BreakerStore {
  readonly [perProcess] = true;

  breaker(policy: BreakerPolicy, onChange: (state: BreakerState) => void): Breaker {
    return new MemoryBreaker(policy, onChange);
  }
}
