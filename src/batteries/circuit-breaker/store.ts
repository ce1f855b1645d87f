export type BreakerState = "closed" | "open" | "half-open";

/** The state of a circuit, for people and monitoring. */
export interface BreakerSnapshot {
  /** The route whose circuit it is: `GET /books/{id}`. */
  readonly route: string;
  readonly state: BreakerState;
  /** Failures in a row, while closed. */
  readonly failures: number;
  /** Successes since it was half-open. */
  readonly successes: number;
  /** Seconds until the next request is let through; 0 unless open. */
  readonly retry_after: number;
}

export interface BreakerPolicy {
  /** The route; the same in every worker. */
  readonly route: string;
  readonly failureThreshold: number;
  readonly resetMs: number;
  readonly halfOpenTarget: number;
}

/** The decision about a request. */
export interface Admission {
  /** To be handed back with the outcome; 0 when the request is refused. */
  readonly ticket: number;
  /** Milliseconds after which to try again; 0 when the request may continue. */
  readonly waitMs: number;
}

/** The result of a request for its circuit; "neither" frees the place of a request that proves nothing. */
export type Outcome = "success" | "failure" | "neither";

/** The circuit of one route. */
export interface Breaker {
  admit(): Admission | Promise<Admission>;
  /** Called once for each request that was admitted. */
  report(ticket: number, outcome: Outcome): void | Promise<void>;
  snapshot(): BreakerSnapshot | Promise<BreakerSnapshot>;
}

/** A store of the state of circuits: in this process, or shared by all workers. */
export interface BreakerStore {
  /** `onChange` is called for every change of the state that this process makes. */
  breaker(policy: BreakerPolicy, onChange: (state: BreakerState) => void): Breaker;
}
