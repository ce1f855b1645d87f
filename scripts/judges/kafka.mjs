/**
 * Judges Kafka: librdkafka as the other side of every message, on Kafka 4.3 and 3.9, and three brokers one of which is killed
 * under load. It needs Java, Maven and Python with confluent-kafka. It takes minutes.
 *
 *     npm run build && node scripts/judges/kafka.mjs [python] [--only 4.3.1,3.9.2,cluster]
 */
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { kafkaVersion, startKafka, startKafkaCluster } from "../services/kafka.mjs";
import { freePort } from "../services/ports.mjs";

const run = promisify(execFile);
const { values, positionals } = parseArgs({ allowPositionals: true, options: { only: { type: "string" } } });
const [python = "python3"] = positionals;
const wanted = (name) => values.only === undefined || values.only.split(",").includes(name);
const other = fileURLToPath(new URL("librdkafka.py", import.meta.url));
const { createKafkaBroker, openMessaging } = await import(
  new URL("../../dist/engines/messaging/index.js", import.meta.url).href
);
const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const count = 200;

for (const version of [kafkaVersion, "3.9.2"]) if (wanted(version)) await inFolder((folder) => single(folder, version));
if (wanted("cluster")) await inFolder((folder) => three(folder));
process.exit();

/** One broker: every compression of librdkafka is read, and librdkafka reads what we publish. */
async function single(folder, version) {
  const { value: address, stop } = await startKafka(folder, await freePort(), { version, log: console.error });
  try {
    for (const codec of ["none", "gzip", "snappy", "lz4", "zstd"]) {
      const topic = `from-${codec}`;
      const client = await open([address]);
      const seen = [];
      await client.subscribe(topic, {}, (message) => void seen.push(message));
      const sent = await librdkafka(address, "produce", topic, codec, count);
      await until(() => seen.length >= count);
      verdict(
        `Kafka ${version}: librdkafka publishes with ${codec}, we read`,
        seen.length === count &&
          seen.every(({ headers, value }) => headers.tenant === "zürich" && headers.n === String(value.n)) &&
          sameOrder(
            sent,
            seen.map(({ key, value }) => ({ key, value: JSON.stringify(value) })),
          ),
        `${sent.length} sent, ${seen.length} handled`,
      );
      await client.close();
    }
    for (const compression of ["none", "gzip", "snappy", "lz4"]) {
      const topic = `to-${compression}`;
      const client = await open([address], { compression });
      const entries = Array.from({ length: count }, (_, n) => {
        return { value: { n }, key: `key-${n % 20}`, headers: { tenant: "zürich" } };
      });
      await client.publishBatch(topic, entries);
      // The partition of each key is that of librdkafka.
      const theirs = await librdkafka(address, "produce", topic, "none", 20);
      const read = await librdkafka(address, "consume", topic, count + 20);
      const ours = read.filter(({ headers }) => headers["stoa-id"] !== undefined);
      const places = new Map(theirs.map(({ key, partition }) => [key, partition]));
      verdict(
        `Kafka ${version}: we publish with ${compression}, librdkafka reads, keys are in the same partitions`,
        ours.length === count &&
          ours.every(({ key, partition, headers }) => places.get(key) === partition && headers.tenant === "zürich"),
        `${count} sent, ${ours.length} read`,
      );
      await client.close();
    }
    await transactions(address, version);
  } finally {
    await stop();
  }
}

/** librdkafka that reads committed messages sees transactions whole, and those that were aborted not at all. */
async function transactions(address, version) {
  const client = await open([address]);
  const failing = client.transaction(async (tx) => {
    await tx.publish("whole", "never");
    throw new Error("no");
  });
  await failing.catch(() => {});
  for (let n = 0; n < 5; n++) {
    await client.transaction((tx) => tx.publishBatch("whole", [{ value: n }, { value: n + 100 }]));
  }
  const read = await librdkafka(address, "consume", "whole", 10);
  verdict(
    `Kafka ${version}: librdkafka reads transactions whole`,
    read.length === 10 && read.every(({ value }) => value !== '"never"'),
    `${read.length} read`,
  );
  await client.close();
}

/** Three brokers, two producers, two workers; each broker is killed and started again under load. */
async function three(folder) {
  const cluster = await startKafkaCluster(folder, { log: console.error });
  try {
    const workers = [await open(cluster.brokers), await open(cluster.brokers)];
    const seen = new Map();
    const last = new Map();
    let handled = 0;
    let reordered = 0;
    const note = ({ value }) => {
      handled++;
      const id = `${value.key}-${value.number}`;
      if (!seen.has(id) && value.number < (last.get(value.key) ?? -1)) reordered++;
      if (!seen.has(id)) last.set(value.key, value.number);
      seen.set(id, true);
    };
    for (const worker of workers) await worker.subscribe("load", { prefetch: 50 }, note);
    const producer = await open(cluster.brokers);
    const sent = [];
    let failed = 0;
    let ending = false;
    const produce = async (key) => {
      for (let number = 0; !ending; number++) {
        try {
          await producer.publish("load", { key, number }, { key });
          sent.push(`${key}-${number}`);
        } catch {
          failed++;
        }
      }
    };
    const producing = Array.from({ length: 10 }, (_, key) => produce(`k${key}`));
    for (const node of cluster.nodes) {
      const before = sent.length;
      await until(() => sent.length > before + 300);
      await node.stop();
      const killed = sent.length;
      await until(() => sent.length > killed + 300);
      await node.start();
    }
    ending = true;
    await Promise.all(producing);
    await until(() => sent.every((id) => seen.has(id)));
    const lost = sent.filter((id) => !seen.has(id)).length;
    verdict(
      "three brokers, each killed and started again under load",
      lost === 0 && reordered === 0 && failed === 0,
      `${sent.length} sent, ${failed} failed, ${lost} lost, ${handled - seen.size} handled twice, ${reordered} out of order`,
    );
    await Promise.all([...workers, producer].map((client) => client.close()));
  } finally {
    await cluster.stop();
  }
}

async function open(brokers, more = {}) {
  const broker = await createKafkaBroker({ brokers, groupId: "judge", sessionTimeout: 6000, ...more });
  return openMessaging(broker, { logger: quiet, timeout: 120_000 });
}

async function librdkafka(...args) {
  const { stdout } = await run(python, [other, ...args.map(String)], { maxBuffer: 64 * 1024 * 1024 });
  return stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/** The messages of each key are in the order in which they were sent. */
function sameOrder(sent, read) {
  const byKey = (list) => {
    const keys = new Map();
    for (const { key, value } of list) keys.set(key, [...(keys.get(key) ?? []), JSON.stringify(JSON.parse(value))]);
    return keys;
  };
  const [one, two] = [byKey(sent), byKey(read)];
  return [...one].every(([key, list]) => list.join() === (two.get(key) ?? []).join());
}

async function until(condition) {
  const deadline = Date.now() + 120_000;
  while (!condition() && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
}

async function inFolder(use) {
  const folder = await mkdtemp(join(tmpdir(), "stoa-judge-"));
  try {
    await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function verdict(name, ok, counts) {
  console.log(`${ok ? "ok    " : "FAILED"} ${name}: ${counts}`);
  if (!ok) process.exitCode = 1;
}
