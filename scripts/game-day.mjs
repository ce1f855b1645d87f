/**
 * The game day: the orders example on three machines behind a balancer, with PostgreSQL and a standby, Redis with a replica
 * and Sentinels, a broker and a collector of telemetry, while parts of it die. A ledger of what clients were told is compared
 * with what is left.
 *
 *     npm run game-day -- [--minutes 60] [--seed 7] [--broker kafka|amqp] [--brokers 3] [--picture file.svg] [--keep folder] [--log]
 *
 * Without `--minutes` it is the short form: one fault of each kind, about seven minutes. It prints the seed, the faults and the
 * counts. The exit code is 1 if a check has failed. docs/game-day.md has the checks.
 */
import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { runGameDay } from "./game-day/run.mjs";
import { onOrphaned } from "./process.mjs";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "0" },
    seed: { type: "string" },
    broker: { type: "string", default: "kafka" },
    brokers: { type: "string", default: "1" },
    picture: { type: "string", default: "game-day.svg" },
    keep: { type: "string" },
    only: { type: "string" },
    log: { type: "boolean", default: false },
  },
});
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9));
console.log(`seed ${seed}`);
const log = values.log ? (line) => console.log(`${new Date().toISOString()} ${line}`) : undefined;
const interruption = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => interruption.abort(signal));
onOrphaned(() => interruption.abort("SIGTERM"));
const faults = values.only ? JSON.parse(values.only) : null;
const result = await runGameDay({
  seed,
  minutes: Number(values.minutes),
  brokerName: values.broker,
  brokers: Number(values.brokers),
  log,
  keep: values.keep ?? null,
  faults,
  interrupted: interruption.signal,
});
await writeFile(values.picture, result.svg);
const show = (list) => list.map(([name, count]) => `${name} ${count}`).join(", ");
const kinds = {};
for (const { kind } of result.faults) kinds[kind] = (kinds[kind] ?? 0) + 1;
console.log(`faults: ${show(Object.entries(kinds))}`);
console.log(`counts: ${show(Object.entries(result.counts))}`);
const slow = result.recoveries.filter(({ seconds }) => seconds === null || seconds > 5);
const level = result.recoveries[0]?.level;
console.log(
  `p99 before the faults ${level} ms; back to twice that within 5 s after ${result.recoveries.length - slow.length} of ${result.recoveries.length} faults`,
);
for (const { name, seconds } of slow)
  console.log(`  ${name}: ${seconds === null ? "not before the next fault" : `${seconds.toFixed(1)} s`}`);
const { before, after } = result.memory;
for (const [index, size] of before.megabytes.entries()) {
  const connections = `${before.connections[index]} and ${after.connections[index]} connections to PostgreSQL`;
  console.log(`m${index + 1}: ${size} MB before the faults, ${after.megabytes[index]} MB at the end; ${connections}`);
}
console.log(`warnings and errors in the logs: ${show(Object.entries(result.levels))}`);
for (const [text, count] of result.messages.slice(0, 25)) console.log(`  ${count} x ${text}`);
console.log(`picture: ${values.picture}`);
console.log(result.failures.length === 0 ? "ok" : "FAILED");
for (const failure of result.failures) console.log(`  ${failure}`);
process.exit(result.failures.length === 0 ? 0 : 1);
