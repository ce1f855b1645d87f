import { MemoryBreaker } from "../../batteries/circuit-breaker/memory-breaker.js";
import type { BreakerPolicy, BreakerSnapshot, BreakerState, Outcome } from "../../batteries/circuit-breaker/store.js";
import { type Check, is } from "../../kit/options.js";
import type { SharedMemory } from "../../server/process/shared-memory.js";
import type { HubWorker } from "../../server/worker-messages/service.js";
import { call, callService, objectWith } from "./calls.js";
import { SharedBreaker } from "./shared-circuits.js";

/** A circuit as workers know it. It is closed with a ticket, or open for some time. */
export type CircuitView = readonly [isClosed: 0 | 1, ticket: number, hasFailures: 0 | 1, waitMs: number];

/** The changes that the message made, and the decision. */
type AdmitReply = readonly [changes: readonly BreakerState[], ticket: number, waitMs: number];

/** To a worker: a circuit has changed. */
export type CircuitChange = readonly [index: number, view: CircuitView];

const breakerPolicy = objectWith<BreakerPolicy>({
  route: is.string,
  failureThreshold: is.number(),
  resetMs: is.number(),
  halfOpenTarget: is.number(),
});
const outcome = is.oneOf("success", "failure", "neither") satisfies Check<Outcome>;

/**
 * Circuits of all workers, known by a number that the worker has chosen. Each change is known to all of them before the
 * report that made it is confirmed. `memory` is that of the workers, if they share one: then only circuits without a place
 * there are announced, and those of workers that cannot use it.
 */
export function circuitService(memory: SharedMemory | null = null) {
  const circuits = new Map<string, Circuit>();
  /** By the numbers that a worker gives its circuits. */
  const byWorker = new Map<HubWorker, Map<number, Circuit>>();
  const circuitOf = (worker: HubWorker, index: number): Circuit => {
    const circuit = byWorker.get(worker)?.get(index);
    if (circuit === undefined) throw new Error("the worker has not announced this circuit");
    return circuit;
  };
  return callService(
    {
      join: call([is.number(), breakerPolicy], (worker, index, policy) => {
        const name = JSON.stringify(policy);
        let circuit = circuits.get(name);
        if (circuit === undefined) circuits.set(name, (circuit = new Circuit(policy, memory)));
        let list = byWorker.get(worker);
        if (list === undefined) byWorker.set(worker, (list = new Map()));
        list.set(index, circuit);
        return circuit.join(worker, index);
      }),
      admit: call([is.number()], (worker, index) => circuitOf(worker, index).admit(worker)),
      report: call([is.number(), is.number(), outcome], (worker, index, ticket, result) =>
        circuitOf(worker, index).report(worker, ticket, result),
      ),
      snapshot: call([is.number()], (worker, index) => circuitOf(worker, index).snapshot()),
    },
    (worker) => {
      for (const circuit of byWorker.get(worker)?.values() ?? []) circuit.leave(worker);
      byWorker.delete(worker);
    },
  );
}

class Circuit {
  readonly #breaker: MemoryBreaker | SharedBreaker;
  /** The number of the circuit in each worker. */
  readonly #workers = new Map<HubWorker, number>();
  /** Requests that test a half-open circuit, by worker. */
  readonly #probes = new Map<HubWorker, number[]>();
  #changes: BreakerState[] = [];

  constructor(policy: BreakerPolicy, memory: SharedMemory | null) {
    const onChange = (state: BreakerState): void => void this.#changes.push(state);
    this.#breaker = (memory && SharedBreaker.make(memory, policy, onChange)) ?? new MemoryBreaker(policy, onChange);
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
    if (ticket !== 0 && this.#breaker.snapshot().state === "half-open") {
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
    // Others change it without a message, so the worker asks each time.
    if (this.#breaker instanceof SharedBreaker) return [0, 0, 1, 0];
    const { state, ticket, failures, waitMs } = this.#breaker.view();
    return [state === "closed" ? 1 : 0, ticket, failures > 0 ? 1 : 0, waitMs];
  }

  #takeChanges(): readonly BreakerState[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }
}
