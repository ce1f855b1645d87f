import { afterEach, describe, expect, it } from "vitest";
import type { BreakerPolicy, BreakerState } from "../../../src/batteries/circuit-breaker/store.js";
import { SharedBreaker, sharedCircuitsEnd } from "../../../src/engines/supervisor-state/shared-circuits.js";
import { SharedMemory } from "../../../src/server/process/shared-memory.js";
import { Random } from "../../orm/random/seeded.js";
import { runs } from "../../support/properties.js";

const { load, compareExchange } = Atomics;
const changesOfAll = 2 ** 21;
const states = ["closed", "open", "half-open"];

afterEach(() => void Object.assign(Atomics, { load, compareExchange }));

class Killed extends Error {}

interface Worker {
  readonly memory: SharedMemory;
  readonly breaker: SharedBreaker;
  readonly tickets: number[];
  isStopped: boolean;
}

/** Workers with one circuit. Before each access to the memory one can be stopped while others run, or be killed. */
class Run {
  readonly #policy: BreakerPolicy;
  readonly #random: Random;
  readonly #buffer = new ArrayBuffer(sharedCircuitsEnd);
  /** The circuit has the first place. */
  readonly #word = new BigUint64Array(this.#buffer, sharedCircuitsEnd - 8 * 1024, 1);
  readonly #workers: Worker[];
  #owners = 1;
  readonly #watched = {
    load: (...given: Parameters<typeof load>) => this.#access(() => load(...given)),
    compareExchange: (...given: Parameters<typeof compareExchange>) => this.#access(() => compareExchange(...given)),
  };
  #time = 0;
  #timeRead = 0;
  /** Calls within each other: all but the last one are stopped. */
  #depth = 0;
  /** The number of changes so far, and the end of the time for which it is open. */
  #changes: number;
  #end = 0;
  /** The largest number of probes at a time. */
  probes = 0;

  constructor(seed: number, policy: Omit<BreakerPolicy, "route">, changes: number) {
    this.#policy = { route: "GET /", ...policy };
    this.#random = new Random(seed);
    this.#changes = changes;
    this.#word[0] = BigInt(changes) << 43n;
    this.#workers = Array.from({ length: 4 }, () => this.#start());
  }

  play(steps: number): void {
    for (let i = 0; i < steps; i++) this.#step();
  }

  /** The places for probes once all requests have ended. */
  end(): number {
    for (const { breaker, tickets } of this.#workers) for (const ticket of tickets) breaker.report(ticket, "neither");
    expect(this.#workers[0]!.memory.holds.filter((held) => held !== 0n)).toHaveLength(0);
    const { breaker } = this.#workers[0]!;
    this.#time += 1000;
    while (breaker.snapshot().state === "closed") breaker.report(breaker.admit().ticket, "failure");
    this.#time += 1000;
    let places = 0;
    while (places < 100 && breaker.admit().ticket !== 0) places++;
    return places;
  }

  #access<Value>(access: () => Value): Value {
    if (this.#random.chance(0.1)) this.#time += this.#random.int(1, 10) / 8;
    if (this.#random.chance(0.004)) throw new Killed();
    if (this.#depth < 4 && this.#random.chance(0.2)) {
      for (let i = this.#random.int(1, this.#random.chance(0.1) ? 40 : 5); i > 0; i--) this.#step();
    }
    return access();
  }

  #step(): void {
    const free = this.#workers.filter(({ isStopped }) => !isStopped);
    if (free.length === 0) return;
    const worker = this.#random.pick(free);
    worker.isStopped = true;
    this.#depth++;
    Object.assign(Atomics, this.#watched);
    try {
      this.#use(worker);
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      Object.assign(Atomics, { load, compareExchange });
      worker.memory.release(worker.memory.owner);
      this.#workers[this.#workers.indexOf(worker)] = this.#start();
    }
    worker.isStopped = false;
    Object.assign(Atomics, --this.#depth > 0 ? this.#watched : { load, compareExchange });
  }

  #use({ breaker, tickets }: Worker): void {
    if (tickets.length > 0 && (tickets.length > 5 || this.#random.chance(0.5))) {
      const [ticket] = tickets.splice(this.#random.int(0, tickets.length - 1), 1);
      breaker.report(ticket!, this.#random.pick(["success", "success", "failure", "failure", "neither"] as const));
      return;
    }
    const { ticket, waitMs } = breaker.admit();
    if (ticket === 0 ? waitMs <= 0 : waitMs !== 0) throw new Error(`ticket ${ticket}, ${waitMs} ms`);
    if (ticket === 0) return;
    tickets.push(ticket);
    const state = stateOf(BigInt(ticket - 1) << 32n);
    if (state === "open") throw new Error("an open circuit has admitted a request");
    if (state === "closed") return;
    const probes = this.#workers.flatMap((worker) => worker.tickets).filter((other) => other === ticket).length;
    if (probes > this.#policy.halfOpenTarget) throw new Error(`${probes} probes at a time`);
    this.probes = Math.max(this.probes, probes);
  }

  #start(): Worker {
    const memory = new SharedMemory(this.#buffer, ++this.#owners);
    memory.now = () => (this.#timeRead = this.#time);
    const breaker = SharedBreaker.make(memory, this.#policy, (state) => this.#noteChange(state))!;
    return { memory, breaker, tickets: [], isStopped: false };
  }

  /** Each change is told once, by the one that made it, before anybody else can make another. */
  #noteChange(state: BreakerState): void {
    const word = this.#word[0]!;
    const end = Number(BigInt.asUintN(41, word));
    this.#changes = (this.#changes + 1) % changesOfAll;
    const told = `${this.#changes} ${state}`;
    const made = `${word >> 43n} ${stateOf(word)}`;
    if (told !== made) throw new Error(`the change is ${made}, and ${told} was told`);
    if (state === "open" && end < this.#timeRead + this.#policy.resetMs) throw new Error("it is open for too short");
    if (state === "half-open" && this.#time < this.#end) throw new Error("it is half-open too early");
    this.#end = end;
  }
}

function stateOf(word: bigint): string {
  return states[Number((word >> 41n) & 3n)]!;
}

describe("a circuit in shared memory", () => {
  it.each([
    [{ failureThreshold: 1, resetMs: 1, halfOpenTarget: 1 }, 0],
    [{ failureThreshold: 2, resetMs: 2, halfOpenTarget: 2 }, changesOfAll - 30],
    [{ failureThreshold: 3, resetMs: 1, halfOpenTarget: 3 }, 7],
    [{ failureThreshold: 1, resetMs: 3, halfOpenTarget: 8 }, changesOfAll - 5],
  ])("A circuit is exact wherever its workers are stopped and killed: %o after %i changes", (policy, changes) => {
    let probes = 0;
    for (let seed = 1; seed <= runs(50); seed++) {
      const run = new Run(seed, policy, changes);
      run.play(40);
      expect(run.end()).toBe(policy.halfOpenTarget);
      probes = Math.max(probes, run.probes);
    }
    expect(probes).toBe(policy.halfOpenTarget);
  });

  function make(memory: SharedMemory, resetMs: number): SharedBreaker | null {
    return SharedBreaker.make(memory, { route: "GET /", failureThreshold: 1, resetMs, halfOpenTarget: 8 }, () => {});
  }

  it("A circuit is reported as open until its time is over, and as half-open from then on", () => {
    const memory = new SharedMemory(new ArrayBuffer(sharedCircuitsEnd), 1);
    let time = 0;
    memory.now = () => time;
    const breaker = make(memory, 1500)!;
    breaker.report(breaker.admit().ticket, "failure");
    expect(breaker.snapshot()).toMatchObject({ state: "open", failures: 0, successes: 0, retry_after: 2 });
    time = 1499.9;
    expect(breaker.snapshot()).toMatchObject({ state: "open", retry_after: 1 });
    time = 1500;
    expect(breaker.snapshot()).toMatchObject({ state: "half-open", failures: 0, successes: 0, retry_after: 0 });
  });

  it("There is room for 1,024 circuits, and circuits of one route with other options are others", () => {
    const memory = new SharedMemory(new ArrayBuffer(sharedCircuitsEnd), 1);
    for (let place = 0; place < 1024; place++) {
      const breaker = make(memory, 1000 + place)!;
      expect(breaker.snapshot().state).toBe("closed");
      breaker.report(breaker.admit().ticket, "failure");
    }
    expect(make(memory, 1000 + 1024)).toBeNull();
    expect(make(memory, 1000 + 1023)?.snapshot().state).toBe("open");
  });
});
