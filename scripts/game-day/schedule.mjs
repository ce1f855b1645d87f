import { seeded } from "../chaos/random.mjs";

/**
 * The kinds of faults. `seconds` is how long one lasts, `target` the connections of a machine that it hurts, `way` the one
 * that is held back.
 */
export const kinds = {
  "kill worker": { of: "worker" },
  "kill machine": { of: "machine", seconds: [0.5, 4] },
  // Longer than the leases of 6 seconds.
  "freeze worker": { of: "worker", seconds: [7, 10] },
  "freeze machine": { of: "machine", seconds: [7, 10] },
  partition: { of: "machine", seconds: [7, 10], targets: ["postgres", "redis", "broker", "engines"] },
  "one-way partition": { of: "machine", seconds: [3, 9], targets: ["postgres", "redis", "broker"], ways: true },
  "cut connections": { of: "machine", seconds: [0.2, 4], targets: ["postgres", "redis", "broker", "balancer"] },
  "hide from balancer": { of: "machine", seconds: [3, 6], targets: ["balancer"] },
  delay: { of: "machine", seconds: [4, 8], targets: ["postgres", "redis", "broker", "engines"], by: [20, 300] },
  "restart postgres": {},
  "promote standby": {},
  "restart redis": { seconds: [0, 3] },
  "freeze redis": { seconds: [1, 6] },
  "fill redis": { seconds: [2, 5] },
  "restart broker": {},
  "freeze broker": { seconds: [2, 7] },
  "roll out": {},
};

/**
 * The faults of a seed, without an end: each kind once, in a random order, then each once more in another order. `wait` is the
 * time in seconds before it begins, after the end of the fault before; with `overlaps` after its begin.
 */
export function* schedule(seed, { machines = 3, workers = 2, overlaps = true } = {}) {
  const random = seeded(`game-day-${seed}`);
  for (;;) {
    for (const kind of shuffled(Object.keys(kinds), random)) {
      const fault = faultOf(kind, random, { machines, workers });
      yield { ...fault, wait: tenths(random, [2, 7]), overlaps: random.next() < 0.25 && overlaps };
    }
  }
}

function faultOf(kind, random, { machines, workers }) {
  const { of, seconds, targets, ways, by } = kinds[kind];
  return {
    kind,
    ...(of && { machine: Math.floor(random.next() * machines) }),
    ...(of === "worker" && { worker: Math.floor(random.next() * workers) }),
    ...(targets && { target: random.pick(targets) }),
    ...(ways && { way: random.pick(["requests", "responses"]) }),
    ...(by && { by: Math.round(random.between(...by)) }),
    ...(seconds && { seconds: tenths(random, seconds) }),
  };
}

function tenths(random, [low, high]) {
  return Math.round(random.between(low, high) * 10) / 10;
}

function shuffled(list, random) {
  const left = [...list];
  return list.map(() => left.splice(Math.floor(random.next() * left.length), 1)[0]);
}

/** The fault in words, as `partition m2 redis 8.1 s`. */
export function describeFault({ kind, machine, worker, target, way, by, seconds }) {
  const place = machine === undefined ? "" : ` m${machine + 1}${worker === undefined ? "" : `.${worker + 1}`}`;
  const parts = [target, way && `(${way})`, by && `${by} ms`, seconds && `${seconds} s`].filter(Boolean);
  return `${kind}${place}${parts.length > 0 ? ` ${parts.join(" ")}` : ""}`;
}
