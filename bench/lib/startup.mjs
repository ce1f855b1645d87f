import { basename } from "node:path";
import { startServer } from "./server.mjs";
import { median } from "./statistics.mjs";

/**
 * The time from the start of the process to its first response for each contestant, and the ratio to the base; Stoa
 * also with all its HTTP features.
 */
export async function measureStartup(base, contestants, workload, times) {
  const all = [base, ...contestants]
    .flatMap(withFeatures)
    .map((contestant) => ({ contestant, figures: [], error: undefined }));
  for (let n = 0; n < times; n++) {
    for (const entry of all.filter(({ error }) => !error)) {
      try {
        const server = await startServer(entry.contestant, workload);
        entry.figures.push(server.startup);
        await server.stop();
      } catch (error) {
        entry.error = error.message;
      }
    }
  }
  const reference = median(all[0].figures);
  return all.map(({ contestant: { name }, figures, error }) => {
    if (error) return { name, error };
    const milliseconds = median(figures);
    const [lowest, highest] = [Math.min(...figures), Math.max(...figures)];
    return { name, milliseconds, lowest, highest, timesBase: milliseconds / reference };
  });
}

function withFeatures(contestant) {
  if (basename(contestant.file) !== "stoa.mjs") return [contestant];
  const env = { ...contestant.env, STOA_FEATURES: "all" };
  return [contestant, { ...contestant, name: `${contestant.name}, every HTTP feature`, env }];
}
