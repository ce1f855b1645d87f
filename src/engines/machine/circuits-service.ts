import { MemoryBreaker } from "../../batteries/circuit-breaker/memory-breaker.js";
import type { BreakerPolicy, BreakerSnapshot, BreakerState, Outcome } from "../../batteries/circuit-breaker/store.js";
import type { HubService, HubWorker } from "../../server/exchange/service.js";

/** Messages of a worker. Circuits are known by a number that the worker has chosen. */
export type CircuitMessage =
  | readonly ["join", index: number, policy: BreakerPolicy]
  | readonly ["admit", index: number]
  | readonly ["report", index: number, ticket: number, outcome: Outcome]
  | readonly ["snapshot", index: number];

/** A circuit as workers know it. It is closed with a ticket, or open for some time. */
export type CircuitView = readonly [isClosed: 0 | 1, ticket: number, hasFailures: 0 | 1, waitMs: number];

/** The changes that the message made, and the decision. */
export type AdmitReply = readonly [changes: readonly BreakerState[], ticket: number, waitMs: number];

/** To a worker: a circuit has changed. */
export type CircuitChange = readonly [index: number, view: CircuitView];

/** Circuits of all workers. Each change is known to all of them before the report that made it is confirmed. */
export class CircuitService implements HubService {
  readonly #circuits = new Map<string, Circuit>();
  readonly #byWorker = new Map<HubWorker, Circuit[]>();

  hear(worker: HubWorker, message: CircuitMessage): unknown {
    const [kind, index] = message;
    if (kind === "join") return this.#join(worker, index, message[2]);
    const circuit = this.#byWorker.get(worker)?.[index];
    if (circuit === undefined) throw new Error("the worker has not announced this circuit");
    switch (kind) {
      case "admit":
        return circuit.admit(worker);
      case "report":
        return circuit.report(worker, message[2], message[3]);
      case "snapshot":
        return circuit.snapshot();
    }
  }

  leave(worker: HubWorker): void {
    for (const circuit of this.#byWorker.get(worker) ?? []) circuit.leave(worker);
    this.#byWorker.delete(worker);
  }

  lost(worker: HubWorker): void {
    this.leave(worker);
  }

  #join(worker: HubWorker, index: number, policy: BreakerPolicy): CircuitView {
    const name = JSON.stringify(policy);
    let circuit = this.#circuits.get(name);
    if (circuit === undefined) this.#circuits.set(name, (circuit = new Circuit(policy)));
    let list = this.#byWorker.get(worker);
    if (list === undefined) this.#byWorker.set(worker, (list = []));
    list[index] = circuit;
    return circuit.join(worker, index);
  }
}

class Circuit {
  readonly #breaker: MemoryBreaker;
  /** The number of the circuit in each worker. */
  readonly #workers = new Map<HubWorker, number>();
  /** Requests that test a half-open circuit, by worker. */
  readonly #probes = new Map<HubWorker, number[]>();
  #changes: BreakerState[] = [];

  constructor(policy: BreakerPolicy) {
    this.#breaker = new MemoryBreaker(policy, (state) => this.#changes.push(state));
  }

  join(worker: HubWorker, index: number): CircuitView {
    this.#workers.set(worker, index);
    return this.#view();
  }

  /** A request of a worker that has ended proves nothing; its place is free again. */
  leave(worker: HubWorker): void {
    this.#workers.delete(worker);
    for (const ticket of this.#probes.get(worker) ?? []) this.#breaker.report(ticket, "neither");
    this.#probes.delete(worker);
    this.#changes = [];
  }

  admit(worker: HubWorker): AdmitReply {
    const { ticket, waitMs } = this.#breaker.admit();
    if (ticket !== 0 && this.#breaker.view().state === "half-open") {
      const probes = this.#probes.get(worker);
      if (probes === undefined) this.#probes.set(worker, [ticket]);
      else probes.push(ticket);
    }
    return [this.#takeChanges(), ticket, waitMs];
  }

  async report(worker: HubWorker, ticket: number, outcome: Outcome): Promise<readonly BreakerState[]> {
    const probes = this.#probes.get(worker) ?? [];
    const probe = probes.indexOf(ticket);
    if (probe >= 0) probes.splice(probe, 1);
    const before = this.#view();
    this.#breaker.report(ticket, outcome);
    const changes = this.#takeChanges();
    const after = this.#view();
    if (before[0] !== after[0] || before[1] !== after[1] || before[2] !== after[2]) {
      const asked = [...this.#workers].map(([other, index]) => other.ask([index, after] satisfies CircuitChange));
      await Promise.all(asked);
    }
    return changes;
  }

  snapshot(): BreakerSnapshot {
    return this.#breaker.snapshot();
  }

  #view(): CircuitView {
    const { state, ticket, failures, waitMs } = this.#breaker.view();
    return [state === "closed" ? 1 : 0, ticket, failures > 0 ? 1 : 0, waitMs];
  }

  #takeChanges(): readonly BreakerState[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }
}
