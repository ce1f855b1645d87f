import { duel } from "./duel.mjs";
import { loadAll } from "./load.mjs";
import { prepareLoad } from "./wrk.mjs";

const names = ["cors", "request id", "metrics", "etag", "rate limit", "compression", "body limit", "logging", "jwt"];

/** Each battery alone: the application with it against the same application without. */
export async function measureCosts(file, options, folder) {
  const workload = (await loadAll("workloads")).find(({ kind }) => kind === "batteries");
  const load = await prepareLoad(workload, folder);
  const plain = { name: "plain", file, env: { STOA_BATTERIES: "" } };
  const results = [];
  for (const name of ["nothing (the control)", ...names]) {
    const challenger = { name, file, env: { STOA_BATTERIES: name } };
    try {
      const { ratio, cpuMicroseconds } = await duel(plain, challenger, workload, load, options);
      results.push({ name, ratio, microseconds: cpuMicroseconds * (1 - ratio) });
    } catch ({ message }) {
      results.push({ name, error: message });
    }
  }
  return results;
}
