import { seeded } from "../chaos/random.mjs";

/**
 * The kinds of faults. `seconds` is how long one lasts, `targets` the connections of a machine that it hurts, `ways` that one
 * direction is held back, `by` milliseconds, `bytes` in a second, `shift` seconds of a clock. One with `needs` happens only
 * where the engines can do it. One with `alone` begins when the one before is forgotten, and none begins while it lasts.
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
  bandwidth: {
    of: "machine",
    seconds: [4, 8],
    targets: ["postgres", "redis", "broker", "engines"],
    bytes: [4000, 40_000],
  },
  "clock jump": { of: "machine", seconds: [5, 10], shift: [-900, 900] },
  "restart postgres": {},
  "promote standby": {},
  "fill postgres": { seconds: [5, 9], needs: "disk of postgres" },
  "restart redis": { seconds: [0, 3] },
  "freeze redis": { seconds: [1, 6] },
  "fill redis": { seconds: [2, 5] },
  "fail over redis": { by: [0, 500], seconds: [0, 4] },
  "restart broker": { seconds: [0, 5] },
  "freeze broker": { seconds: [2, 7] },
  "fill broker": { seconds: [4, 7], needs: "disk of broker" },
  "starve broker": { seconds: [3, 6], needs: "memory of broker" },
  "restart collector": { seconds: [6, 12], alone: true, needs: "collector" },
  "freeze collector": { seconds: [6, 12], alone: true, needs: "collector" },
  "roll out": {},
};

/**
 * The faults of a seed, without an end: each kind once, in a random order, then each once more in another order. `wait` is the
 * time in seconds before it begins, after the end of the fault before; with `overlaps` after its begin. `can` are the needs of
 * faults that the engines fulfil.
 */
export function* schedule(
  seed,
  { machines = 3, workers = 2, overlaps = true, can = /** @type {string[]} */ ([]) } = {},
) {
  const random = seeded(`game-day-${seed}`);
  let wasAlone = false;
  for (;;) {
    for (const kind of shuffled(kindsFor(can), random)) {
      const fault = faultOf(kind, random, { machines, workers });
      const alone = kinds[kind].alone === true;
      const wait = tenths(random, alone ? [12, 16] : [2, 7]);
      yield { ...fault, wait, overlaps: random.next() < 0.25 && overlaps && !alone && !wasAlone };
      wasAlone = alone;
    }
  }
}

export function kindsFor(can) {
  return Object.keys(kinds).filter((kind) => kinds[kind].needs === undefined || can.includes(kinds[kind].needs));
}

function faultOf(kind, random, { machines, workers }) {
  const { of, seconds, targets, ways, by, bytes, shift } = kinds[kind];
  return {
    kind,
    ...(of && { machine: Math.floor(random.next() * machines) }),
    ...(of === "worker" && { worker: Math.floor(random.next() * workers) }),
    ...(targets && { target: random.pick(targets) }),
    ...(ways && { way: random.pick(["requests", "responses"]) }),
    ...(by && { by: Math.round(random.between(...by)) }),
    ...(bytes && { bytes: Math.round(random.between(...bytes)) }),
    ...(shift && { shift: Math.round(random.between(...shift)) }),
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
export function describeFault({ kind, machine, worker, target, way, by, bytes, shift, seconds }) {
  const place = machine === undefined ? "" : ` m${machine + 1}${worker === undefined ? "" : `.${worker + 1}`}`;
  const amounts = [by && `${by} ms`, bytes && `${bytes} B/s`, shift && `by ${shift} s`, seconds && `${seconds} s`];
  const parts = [target, way && `(${way})`, ...amounts].filter(Boolean);
  return `${kind}${place}${parts.length > 0 ? ` ${parts.join(" ")}` : ""}`;
}
