/**
 * Messages through Kafka and RabbitMQ: Stoa against the bare client that it uses, and against NestJS microservices.
 * `node bench/messaging.mjs [rabbitmq|kafka] [rounds]` (`BENCH_COUNT` messages a round) after `npm run build`; the packages of bench/ must be installed
 * (`npm run bench` does that), and Java for Kafka. Each figure is the median of the rounds, with the lowest and highest one.
 * The sides take turns, each in a process of its own; CPU is that of the process, with all its threads.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { services, startServices } from "../scripts/services/index.mjs";
import { median } from "./lib/statistics.mjs";

const workloads = {
  /** 100 values a batch, a few batches at a time. */
  batches: "publish, batches of 100",
  /** Single publishes, 50 under way. */
  singles: "publish, 50 single ones at a time",
  consume: "consume",
};
const peers = { rabbitmq: ["stoa", "bare", "nest"], kafka: ["stoa", "bare", "waiting", "nest"] };

const [broker = "rabbitmq", given = "5", side, workload] = process.argv.slice(2);
if (side !== undefined) await measure();
else await compare();

/** One side, in a child process: runs a round for each message of the parent. */
async function measure() {
  const { default: sides } = await import(`./messaging/${broker}.mjs`);
  const run = await sides[side](process.env.BENCH_BROKER, workload);
  process.on("message", async ({ count, topic }) => {
    try {
      await run.prepare?.(topic, count);
      const before = process.cpuUsage();
      const start = process.hrtime.bigint();
      await run.run(topic, count);
      const seconds = Number(process.hrtime.bigint() - start) / 1e9;
      const { user, system } = process.cpuUsage(before);
      process.send({ rate: count / seconds, cpu: (user + system) / count });
    } catch (error) {
      process.send({ error: String(error?.stack ?? error) });
    }
  });
  process.send("ready");
}

async function compare() {
  const env = process.env.BENCH_BROKER;
  const wanted = services.filter(({ name }) => name === broker);
  const started = env ? null : await startServices(wanted);
  const address = env ?? Object.values(started.env)[0];
  if (address === undefined) throw new Error(started.unavailable[0].reason);
  try {
    for (const [key, title] of Object.entries(workloads)) await duel(key, title, address, Number(given));
  } finally {
    await started?.stop();
  }
  process.exit(0);
}

async function duel(key, title, address, rounds) {
  const usual = { batches: 30_000, singles: 15_000, consume: 30_000 }[key];
  const count = Number(process.env.BENCH_COUNT ?? usual);
  // It publishes as `bare` does.
  const names = peers[broker].filter((name) => name !== "waiting" || key === "consume");
  const figures = new Map(names.map((name) => [name, []]));
  const children = new Map();
  for (const name of names) {
    const child = spawn(
      process.execPath,
      [import.meta.filename ?? new URL(import.meta.url).pathname, broker, given, name, key],
      {
        stdio: ["ignore", "ignore", process.env.BENCH_VERBOSE ? "inherit" : "ignore", "ipc"],
        env: { ...process.env, BENCH_BROKER: address },
      },
    );
    const [ready] = await Promise.race([once(child, "message"), once(child, "exit").then(() => [null])]);
    if (ready === null) {
      console.log(`${name}: not available`);
      figures.delete(name);
    } else children.set(name, child);
  }
  // The first round compiles the code.
  for (let round = 0; round <= rounds; round++) {
    for (const [name, child] of children) {
      const topic = `bench-${key}-${name}-${process.pid}-${round}`;
      const answer = once(child, "message");
      child.send({ count, topic });
      const [result] = await answer;
      if (result.error) throw new Error(`${name}: ${result.error}`);
      if (round > 0) figures.get(name).push(result);
    }
  }
  for (const child of children.values()) child.kill("SIGKILL");
  console.log(`\n${broker}: ${title} (${count} messages a round, ${rounds} rounds)`);
  const stoa = figures.get("stoa") ?? [];
  for (const [name, results] of figures) {
    const rates = results.map(({ rate }) => rate);
    const cpus = results.map(({ cpu }) => cpu);
    const ratio = stoa.map(({ rate }, round) => rate / (results[round]?.rate ?? Number.NaN));
    const cost = stoa.map(({ cpu }, round) => cpu / (results[round]?.cpu ?? Number.NaN));
    const range = name === "stoa" ? "" : `  stoa/${name} ${show(ratio, 2)}, CPU ${show(cost, 2)}`;
    console.log(`  ${name.padEnd(6)} ${show(rates, 0)} messages/s, ${show(cpus, 1)} us CPU${range}`);
  }
}

function show(values, digits) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(digits)} (${low.toFixed(digits)} to ${high.toFixed(digits)})`;
}
