import { probesBusyMs } from "../../batteries/circuit-breaker/memory-breaker.js";
import type {
  Admission,
  Breaker,
  BreakerPolicy,
  BreakerSnapshot,
  BreakerState,
  BreakerStore,
  Outcome,
} from "../../batteries/circuit-breaker/store.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { maxHolds, type SharedMemory } from "../../server/process/shared-memory.js";
import { sharedLimitsEnd } from "./shared-rate-limit.js";

type OnChange = (state: BreakerState) => void;

/** The names of the circuits, then their words. They are never removed; those that find no place are kept by messages. */
const maxCircuits = 1024;
const namesAt = sharedLimitsEnd;
const wordsAt = namesAt + 8 * maxCircuits;
/** The bytes that are used. */
export const sharedCircuitsEnd: number = wordsAt + 8 * maxCircuits;
/** Requests that can test a half-open circuit at a time: each has one of the memory's holds. */
const maxProbes = maxHolds / maxCircuits;

// A circuit is one word, and each change of it one atomic exchange: there is no lock that a stopped process could keep, and
// nothing half done when one is killed. From the top, the word is the number of changes (21 bits), the state (2) and the
// count (41): of failures while closed, of successes while half-open; while open, the millisecond at which that ends. New
// memory is a closed circuit. While it is not open, the upper half stays the same until the state changes, so that it is the
// ticket (plus one).
const countBits = 41;
const stateBits = 2;
const states: readonly BreakerState[] = ["closed", "open", "half-open"];

function countOf(word: bigint): number {
  return Number(BigInt.asUintN(countBits, word));
}

function ticketOf(word: bigint): number {
  return Number(word >> 32n) + 1;
}

function stateOf(ticket: number): BreakerState {
  return states[((ticket - 1) >>> (countBits - 32)) & 3]!;
}

/** The word after a change of the state. The memory drops what the number of changes has above its bits. */
function changed(word: bigint, state: BreakerState, count = 0): bigint {
  const changes = (word >> BigInt(countBits + stateBits)) + 1n;
  return (((changes << BigInt(stateBits)) | BigInt(states.indexOf(state))) << BigInt(countBits)) | BigInt(count);
}

/** Circuits in memory that all workers share. */
export class SharedBreakerStore implements BreakerStore {
  constructor(
    private readonly memory: SharedMemory,
    private readonly messages: BreakerStore,
  ) {}

  breaker(policy: BreakerPolicy, onChange: OnChange): Breaker {
    return SharedBreaker.make(this.memory, policy, onChange) ?? this.messages.breaker(policy, onChange);
  }
}

export class SharedBreaker implements Breaker {
  readonly #word: BigUint64Array;
  /** The lower and the upper half of the word. */
  readonly #halves: Uint32Array;
  readonly #holds: BigUint64Array;
  #pass: Admission = { ticket: 0, waitMs: 0 };

  private constructor(
    private readonly memory: SharedMemory,
    place: number,
    private readonly policy: BreakerPolicy,
    private readonly onChange: OnChange,
  ) {
    this.#word = new BigUint64Array(memory.buffer, wordsAt + 8 * place, 1);
    this.#halves = new Uint32Array(memory.buffer, wordsAt + 8 * place, 2);
    this.#holds = memory.holds.subarray(place * maxProbes, place * maxProbes + policy.halfOpenTarget);
  }

  /** Null if the circuit has no place in the memory. Then it has none for the other processes either. */
  static make(memory: SharedMemory, policy: BreakerPolicy, onChange: OnChange): SharedBreaker | null {
    if (policy.halfOpenTarget > maxProbes) return null;
    const name = nodeCrypto().createHash("sha256").update(JSON.stringify(policy)).digest().readBigUInt64LE();
    const names = new BigUint64Array(memory.buffer, namesAt, maxCircuits);
    for (let place = 0; place < maxCircuits; place++) {
      const known = Atomics.compareExchange(names, place, 0n, name);
      if (known === 0n || known === name) return new SharedBreaker(memory, place, policy, onChange);
    }
    return null;
  }

  admit(): Admission {
    for (;;) {
      const ticket = Atomics.load(this.#halves, 1) + 1;
      const state = stateOf(ticket);
      const isAdmitted = state === "closed" || (state === "half-open" && this.#hold(ticket));
      if (isAdmitted) {
        if (this.#pass.ticket !== ticket) this.#pass = { ticket, waitMs: 0 };
        return this.#pass;
      }
      const word = Atomics.load(this.#word, 0);
      if (ticketOf(word) !== ticket) continue;
      if (state === "half-open") return { ticket: 0, waitMs: probesBusyMs };
      const waitMs = countOf(word) - this.memory.now();
      if (waitMs > 0) return { ticket: 0, waitMs };
      this.#exchange(word, changed(word, "half-open"));
    }
  }

  report(ticket: number, outcome: Outcome): void {
    const isProbe = stateOf(ticket) === "half-open";
    if (outcome !== "neither") this.#count(ticket, outcome, isProbe);
    if (isProbe) this.#free(ticket);
  }

  snapshot(): BreakerSnapshot {
    const word = Atomics.load(this.#word, 0);
    const state = stateOf(ticketOf(word));
    const count = countOf(word);
    const waitMs = state === "open" ? Math.max(0, count - this.memory.now()) : 0;
    return {
      route: this.policy.route,
      state: state === "open" && waitMs === 0 ? "half-open" : state,
      failures: state === "closed" ? count : 0,
      successes: state === "half-open" ? count : 0,
      retry_after: Math.ceil(waitMs / 1000),
    };
  }

  #count(ticket: number, outcome: Outcome, isProbe: boolean): void {
    // Most requests are successes of a closed circuit without failures. They change nothing.
    const isSuccess = outcome === "success";
    if (isSuccess && !isProbe && Atomics.load(this.#halves, 0) === 0) return;
    const { failureThreshold, halfOpenTarget, resetMs } = this.policy;
    for (;;) {
      const word = Atomics.load(this.#word, 0);
      // A report that arrives after the state has changed is ignored.
      if (ticketOf(word) !== ticket) return;
      const count = countOf(word) + 1;
      let next = word + 1n;
      if (isSuccess && !isProbe) next = word - BigInt(count - 1);
      else if (isSuccess && count >= halfOpenTarget) next = changed(word, "closed");
      else if (!isSuccess && (isProbe || count >= failureThreshold))
        next = changed(word, "open", Math.ceil(this.memory.now() + resetMs));
      if (this.#exchange(word, next)) return;
    }
  }

  /** False if another process was faster. Who makes the exchange is the only one that reports the change. */
  #exchange(word: bigint, next: bigint): boolean {
    if (Atomics.compareExchange(this.#word, 0, word, next) !== word) return false;
    const state = stateOf(ticketOf(BigInt.asUintN(64, next)));
    if (state !== stateOf(ticketOf(word))) this.onChange(state);
    return true;
  }

  /** Takes one of the places for probes. What is held with another ticket is free: its state is over. */
  #hold(ticket: number): boolean {
    const mine = this.#holdOf(ticket);
    for (let i = 0; i < this.#holds.length; ) {
      const held = Atomics.load(this.#holds, i);
      if (ticketOf(held) === ticket) {
        i++;
        continue;
      }
      // What was read may belong to a later state than this one.
      if (Atomics.load(this.#halves, 1) + 1 !== ticket) return false;
      if (Atomics.compareExchange(this.#holds, i, held, mine) === held) return true;
    }
    return false;
  }

  #free(ticket: number): void {
    const mine = this.#holdOf(ticket);
    for (let i = 0; i < this.#holds.length; i++) if (Atomics.compareExchange(this.#holds, i, mine, 0n) === mine) return;
  }

  #holdOf(ticket: number): bigint {
    return (BigInt(ticket - 1) << 32n) | BigInt(this.memory.owner);
  }
}
