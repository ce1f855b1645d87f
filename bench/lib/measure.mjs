import { duel } from "./duel.mjs";
import { prepareLoad } from "./wrk.mjs";

const tolerance = 0.05;
const controlAttempts = 3;

/** The control first: without two equal servers coming out equal, nothing else that is measured means anything. */
export async function measureWorkload(workload, matches, options, folder, log) {
  const { key, name, unit = "request" } = workload;
  const load = await prepareLoad(workload, folder);
  const [[base]] = matches.map(({ sides }) => sides);
  const result = {
    key,
    name,
    unit,
    base: base.name,
    control: undefined,
    attempts: 0,
    discarded: true,
    contestants: [],
  };
  while (result.discarded && result.attempts < controlAttempts) {
    result.control = await duel(base, base, workload, load, options);
    result.attempts++;
    result.discarded = Math.abs(result.control.ratio - 1) > tolerance;
    const verdict = result.discarded ? "; off by more than 0.05: thrown away" : "";
    log(`${key}: ${name}: control ${result.control.ratio.toFixed(2)}${verdict}`);
  }
  for (const { name: contestant, label, count, sides } of result.discarded ? [] : matches) {
    const outcome = await duel(...sides, workload, load, options).catch(({ message }) => ({ error: message }));
    result.contestants.push({ name: contestant, label, count, ...outcome });
    const title = [contestant, label].filter(Boolean).join(", ");
    log(`${key}: ${name}: ${title} ${outcome.error ? "failed" : outcome.ratio.toFixed(2)}`);
  }
  return result;
}
