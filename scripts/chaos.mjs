/**
 * The chaos rig: producers, workers, brokers and databases are killed, stopped, starved and cut off at random, and then a
 * ledger is checked for lost, doubled, stuck and reordered messages, events, sagas and jobs.
 *
 *     node scripts/chaos.mjs [subject ...] [--seconds 15] [--seed 7] [--repeat 3] [--long] [--log]
 *
 * It prints the seed, the faults and the counts. The exit code is 1 if a subject has failed. `--long` is five minutes, with
 * restarts of brokers. `--log` prints each fault when it begins. `--repeat` runs each subject so many times with the same seed.
 */
import { parseArgs } from "node:util";
import { runSubject } from "./chaos/rig.mjs";
import { subjects } from "./chaos/subjects/index.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: "string" },
    seed: { type: "string" },
    repeat: { type: "string", default: "1" },
    long: { type: "boolean", default: false },
    log: { type: "boolean", default: false },
  },
});
const seconds = Number(values.seconds ?? (values.long ? 300 : 15));
const seed = Number(values.seed ?? Math.floor(Math.random() * 1e9));
const names = positionals.length > 0 ? positionals : subjects.map(({ name }) => name);
const unknown = names.find((name) => !subjects.some((subject) => subject.name === name));
if (unknown !== undefined) {
  console.error(`no subject '${unknown}': there are ${subjects.map(({ name }) => name).join(", ")}`);
  process.exit(2);
}

console.log(`seed ${seed}, ${seconds} s for each subject`);
const chosen = subjects.filter(({ name }) => names.includes(name));
for (const subject of chosen.flatMap((each) => Array(Number(values.repeat)).fill(each))) {
  const log = values.log ? (line) => console.log(`${new Date().toISOString()} ${line}`) : undefined;
  const { skipped, faults, counts, failures } = await runSubject(subject, { seed, seconds, long: values.long, log });
  if (skipped) {
    console.log(`${subject.name}: skipped (${skipped})`);
    if (process.env.CI === "true") process.exitCode = 1;
    continue;
  }
  const shown = Object.entries({ ...counts, ...faults }).map(([name, count]) => `${name} ${count}`);
  console.log(`${subject.name}: ${failures.length === 0 ? "ok" : "FAILED"}: ${shown.join(", ")}`);
  for (const failure of failures) console.log(`  ${failure}`);
  if (failures.length > 0) process.exitCode = 1;
}
process.exit();
