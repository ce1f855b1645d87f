import type {
  Admission,
  Breaker,
  BreakerPolicy,
  BreakerSnapshot,
  BreakerState,
  BreakerStore,
  Outcome,
} from "../../batteries/circuit-breaker/store.js";
import type { SupervisorLink } from "../../server/worker-messages/link.js";
import { Caller } from "./calls.js";
import type { CircuitChange, CircuitView, circuitService } from "./circuits-service.js";

type Circuits = Caller<ReturnType<typeof circuitService>>;

type OnChange = (state: BreakerState) => void;

/** Circuits in the supervisor. */
export class SupervisedBreakerStore implements BreakerStore {
  readonly #circuits: Circuits;
  readonly #breakers: SupervisedBreaker[] = [];

  constructor(link: SupervisorLink) {
    this.#circuits = new Caller(link, "circuits");
    link.serve("circuits", {
      hear: ([index, view]: CircuitChange) => this.#breakers[index]?.learn(view),
      resync: () => {
        for (const breaker of this.#breakers) breaker.join();
      },
    });
  }

  breaker(policy: BreakerPolicy, onChange: OnChange): Breaker {
    const breaker = new SupervisedBreaker(this.#circuits, this.#breakers.length, policy, onChange);
    this.#breakers.push(breaker);
    breaker.join();
    return breaker;
  }
}

class SupervisedBreaker implements Breaker {
  /** The pass of a closed circuit; null while it is not known to be closed. */
  #pass: Admission | null = null;
  #hasFailures = true;
  #openUntil = 0;

  constructor(
    private readonly circuits: Circuits,
    private readonly index: number,
    private readonly policy: BreakerPolicy,
    private readonly onChange: OnChange,
  ) {}

  join(): void {
    this.#pass = null;
    this.#openUntil = 0;
    this.circuits.request("join", [this.index, this.policy], (error, view) => {
      if (error === null) this.learn(view);
    });
  }

  /** The supervisor says how the circuit stands. */
  learn([isClosed, ticket, hasFailures, waitMs]: CircuitView): void {
    this.#pass = isClosed === 1 ? { ticket, waitMs: 0 } : null;
    this.#hasFailures = hasFailures === 1;
    this.#openUntil = performance.now() + waitMs;
  }

  admit(): Admission | Promise<Admission> {
    if (this.#pass !== null) return this.#pass;
    const waitMs = this.#openUntil - performance.now();
    return waitMs > 0 ? { ticket: 0, waitMs } : this.#ask();
  }

  report(ticket: number, outcome: Outcome): void | Promise<void> {
    // A success changes nothing in a closed circuit without failures: most requests say nothing.
    const isClosed = this.#pass?.ticket === ticket;
    if (isClosed && (outcome === "neither" || (outcome === "success" && !this.#hasFailures))) return undefined;
    return this.#report(ticket, outcome);
  }

  snapshot(): Promise<BreakerSnapshot> {
    return this.circuits.ask("snapshot", [this.index]);
  }

  async #ask(): Promise<Admission> {
    const [changes, ticket, waitMs] = await this.circuits.ask("admit", [this.index]);
    for (const state of changes) this.onChange(state);
    return { ticket, waitMs };
  }

  async #report(ticket: number, outcome: Outcome): Promise<void> {
    const changes = await this.circuits.ask("report", [this.index, ticket, outcome]);
    for (const state of changes) this.onChange(state);
  }
}
