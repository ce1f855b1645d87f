import { startServer } from "./server.mjs";
import { median } from "./statistics.mjs";

/**
 * Two servers at once on one core, loaded in turn from the other core: changes of the machine affect both. Every ratio
 * is the base's figure over the challenger's from the same round, so that more than 1 is better than the base.
 */
export async function duel(base, challenger, workload, load, { rounds, slice, warmup }) {
  const sides = [];
  await workload.reset?.();
  try {
    for (const contestant of [base, challenger]) sides.push(await startServer(contestant, workload));
    const before = sides.map((side) => side.memory());
    for (const side of sides) await load(side.port, warmup);
    const results = [];
    for (let round = 0; round < rounds; round++) results.push(await playRound(sides, load, workload, slice, round));
    const after = sides.map((side) => side.memory());
    return summarise(results, before, after);
  } finally {
    for (const side of sides) await side.stop();
  }
}

/** One slice each. The order changes every round, so that a drift of the machine falls on both alike. */
async function playRound(sides, load, { cpuBeside = () => 0 }, slice, round) {
  const figures = [];
  for (const index of round % 2 === 0 ? [0, 1] : [1, 0]) {
    const before = sides[index].cpu();
    const besideBefore = cpuBeside();
    const { requests, p50, p99 } = await load(sides[index].port, slice);
    if (requests === 0) throw new Error("gave no answer within a slice");
    const perRequest = (seconds) => (seconds * 1e6) / requests;
    figures[index] = {
      cpu: perRequest(sides[index].cpu() - before),
      beside: perRequest(cpuBeside() - besideBefore),
      perSecond: requests / slice,
      p50,
      p99,
    };
  }
  const [base, challenger] = figures;
  return {
    cpuMicroseconds: challenger.cpu,
    ratio: base.cpu / challenger.cpu,
    besideMicroseconds: challenger.beside,
    perSecond: challenger.perSecond,
    rate: challenger.perSecond / base.perSecond,
    p50: base.p50 / challenger.p50,
    p99: base.p99 / challenger.p99,
  };
}

function summarise(rounds, before, after) {
  const column = (name) => rounds.map((round) => round[name]);
  return {
    ...spreadOf(column("ratio")),
    p50: median(column("p50")),
    p99: median(column("p99")),
    cpuMicroseconds: median(column("cpuMicroseconds")),
    besideMicroseconds: median(column("besideMicroseconds")),
    perSecond: median(column("perSecond")),
    rate: spreadOf(column("rate")),
    memory: { base: { start: before[0], load: after[0] }, start: before[1], load: after[1] },
  };
}

function spreadOf(values) {
  return { ratio: median(values), lowest: Math.min(...values), highest: Math.max(...values) };
}
