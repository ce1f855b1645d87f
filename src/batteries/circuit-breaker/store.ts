export type BreakerState = "closed" | "open" | "half-open";

/** How a circuit stands, for people and monitoring. */
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

/** Whether a request may go on. */
export interface Admission {
  /** To be handed back with the outcome; 0 when the request is refused. */
  readonly ticket: number;
  /** Milliseconds after which to try again; 0 when the request may go on. */
  readonly waitMs: number;
}

/** What a request says of what it reached; "neither" frees the place of one that says nothing. */
export type Outcome = "success" | "failure" | "neither";

/** The circuit of one route. */
export interface Breaker {
  admit(): Admission | Promise<Admission>;
  /** Called once for each request that was admitted. */
  report(ticket: number, outcome: Outcome): void | Promise<void>;
  snapshot(): BreakerSnapshot | Promise<BreakerSnapshot>;
}

/** Where the state of circuits is kept: in this process, or in a store that all workers share. */
export interface BreakerStore {
  /** `onChange` is told of every change of the state that this process makes. */
  breaker(policy: BreakerPolicy, onChange: (state: BreakerState) => void): Breaker;
}
