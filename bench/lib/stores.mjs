import { fileURLToPath } from "node:url";
import { startDatabase } from "./database.mjs";
import { revisionMatches } from "./matches.mjs";
import { measureWorkload } from "./measure.mjs";
import { generatePrismaClient } from "./prisma-client.mjs";

const storeFile = (name) => fileURLToPath(new URL(`../stores/${name}.mjs`, import.meta.url));

/** Preparations before a store can be opened. */
const preparations = { prisma: generatePrismaClient };

/** The stores, and the base that they are compared with. */
export async function chooseStores(names, log) {
  const unavailable = [];
  const contestants = [];
  for (const name of names) {
    try {
      await preparations[name]?.();
      contestants.push({ name, file: storeFile(name) });
    } catch ({ message }) {
      log(`${name}: not available: ${message}`);
      unavailable.push({ name, reason: message });
    }
  }
  return { base: { name: "pg", file: storeFile("pg") }, contestants, unavailable };
}

/** The models of two revisions. */
export function storesOfRevisions({ base, contestants }) {
  const file = storeFile("stoa-orm");
  return { base: { ...base, file }, contestants: contestants.map((each) => ({ ...each, file })), unavailable: [] };
}

/** Duels over one PostgreSQL server, with the same data at the beginning of each. */
export async function measureStores(workloads, { base, contestants }, options, folder, log) {
  const database = await startDatabase(log);
  process.env.BENCH_DATABASE = database.url;
  const results = [];
  for (const workload of workloads) {
    const connected = { ...workload, reset: database.reset, cpuBeside: database.cpu };
    const entered = contestants.filter(({ name }) => workload.peers?.includes(name) ?? true);
    const matches = revisionMatches(workload, base, entered);
    if (matches.length > 0) results.push(await measureWorkload(connected, matches, options, folder, log));
    else log(`${workload.key}: ${workload.name}: none of the chosen peers takes part`);
  }
  return {
    version: database.version,
    base: base.name,
    contestants: contestants.map(({ name }) => name),
    workloads: results,
  };
}
