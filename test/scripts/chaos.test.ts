import { expect, it } from "vitest";
import { seeded } from "../../scripts/chaos/random.mjs";
import { runSubject } from "../../scripts/chaos/rig.mjs";
import { subjects } from "../../scripts/chaos/subjects/index.mjs";
import { isLong } from "../support/long.js";
import { service } from "../support/service.js";

/** Short runs; `node scripts/chaos.mjs --long` is the long one. The seed is printed, so that a failure can be repeated. */
const secondsOfBrokers = 15;
const secondsOfPatterns = 6;
const seed = Number(process.env.STOA_CHAOS_SEED ?? Math.floor(Math.random() * 1e9));
const available: Record<string, string | undefined> = {
  memory: "memory",
  kafka: service("kafka"),
  rabbitmq: service("rabbitmq"),
  delays: service("rabbitmq"),
  outbox: service("postgres"),
  events: service("postgres"),
  sagas: service("postgres"),
  jobs: service("postgres"),
};
const patterns = ["outbox", "events", "sagas", "jobs"];
/** Two subjects at a time: they wait for leases and for processes more than they work. */
const lanes: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];

for (const [place, subject] of subjects.filter(({ name }) => available[name] !== undefined).entries()) {
  it.runIf(isLong).concurrent(
    `Nothing is lost, stuck or reordered under random faults (${subject.name})`,
    async () => {
      const seconds = patterns.includes(subject.name) ? secondsOfPatterns : secondsOfBrokers;
      const run = lanes[place % 2]!.then(() => runSubject(subject, { seed, seconds }));
      lanes[place % 2] = run.catch(() => {});
      const { skipped, counts, faults, failures } = await run;
      console.log(`chaos, ${subject.name}, seed ${seed}:`, skipped ?? { ...counts, ...faults });
      expect(skipped).toBeUndefined();
      expect(failures).toEqual([]);
    },
    1_600_000,
  );
}

it("The rig does the same for the same seed", () => {
  const [one, two] = [seeded("7-kafka"), seeded("7-kafka")];
  const numbers = (random: ReturnType<typeof seeded>) => Array.from({ length: 5 }, () => random.between(0, 100));
  expect(numbers(one)).toEqual(numbers(two));
  expect(numbers(seeded("8-kafka"))).not.toEqual(numbers(seeded("7-kafka")));
});
