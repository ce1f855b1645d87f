import { contestantTable, controlRow, pair, spread } from "./tables.mjs";

/** The workloads with a database: the cost for the server and for PostgreSQL, throughput, latency and memory. */
export function databaseTables({ database }) {
  const { workloads, base, contestants, version } = database;
  if (workloads.length === 0) return [];
  const table = (cell, first) => contestantTable(workloads, base, contestants, cell, first && [first]);
  const rate = (result) => spread(result.rate);
  return [
    `## With a database (PostgreSQL ${version}, fsync and synchronous_commit off): requests per CPU time of the server, ratio to ${base} (higher is better; lowest to highest round)`,
    table(spread, controlRow(workloads)),
    `## With a database: requests per second, ratio to ${base} in the same slices (higher is better)`,
    table(rate, controlRow(workloads, rate)),
    "## With a database: microseconds of CPU per request, of the server + of PostgreSQL (requests per second)",
    table(absolute, controlRow(workloads, absolute)),
    `## With a database: latency, ${base}'s over theirs, p50 / p99 (higher is better)`,
    table(({ p50, p99 }) => `${p50.toFixed(2)} / ${p99.toFixed(2)}`),
    `## With a database: memory in MiB after start / after load (in brackets: ${base} in the same duel)`,
    table(({ memory }) => `${pair(memory)} (${pair(memory.base)})`),
  ];
}

const absolute = ({ cpuMicroseconds, besideMicroseconds, perSecond }) =>
  `${cpuMicroseconds.toFixed(0)} + ${besideMicroseconds.toFixed(0)} (${perSecond.toFixed(0)})`;
