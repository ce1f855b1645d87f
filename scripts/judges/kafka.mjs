/**
 * Judges Kafka: the Java client, librdkafka and kafka-python as the other side of every message, with every compression, on
 * Kafka 4.3 and 3.9; batches of 600 MB of zeros; members that join and leave; and three brokers each of which is killed under load. It needs a JDK, Maven and Python
 * with confluent-kafka, kafka-python, python-snappy, lz4 and zstandard. It takes minutes.
 *
 *     npm run build && node scripts/judges/kafka.mjs [python] [--only 4.3.1,3.9.2,cluster]
 */
import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { ConnectionPool, describeGroupsV5 } from "@platformatic/kafka";
import { kafkaJars, kafkaVersion, startKafka, startKafkaCluster } from "../services/kafka.mjs";
import { freePort } from "../services/ports.mjs";

const run = promisify(execFile);
const { values, positionals } = parseArgs({ allowPositionals: true, options: { only: { type: "string" } } });
const [python = "python3"] = positionals;
const wanted = (name) => values.only === undefined || values.only.split(",").includes(name);
const beside = (name) => fileURLToPath(new URL(name, import.meta.url));
const { createKafkaBroker, openMessaging } = await import(
  new URL("../../dist/entry/messaging.js", import.meta.url).href
);
const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const count = 200;
const java = async () => [
  "java",
  "-cp",
  `${await kafkaJars(kafkaVersion, console.error)}/*`,
  beside("JavaClient.java"),
];
/** The clients that stand on the other side, each as a command. */
const others = {
  librdkafka: async () => [python, beside("librdkafka.py")],
  "the Java client": java,
  "kafka-python": async () => [python, beside("kafka-python.py")],
};

for (const version of [kafkaVersion, "3.9.2"]) if (wanted(version)) await inFolder((folder) => single(folder, version));
if (wanted("cluster")) await inFolder((folder) => three(folder));
process.exit();

/** One broker: every compression of the others is read, and they read what we publish. */
async function single(folder, version) {
  const { value: address, stop } = await startKafka(folder, await freePort(), { version, log: console.error });
  try {
    for (const name of Object.keys(others)) {
      for (const codec of ["none", "gzip", "snappy", "lz4", "zstd"]) await theyPublish(address, version, name, codec);
      for (const codec of ["none", "gzip", "snappy", "lz4"]) await wePublish(address, version, name, codec);
    }
    await bomb(address, version);
    await transactions(address, version);
    await joins(address, version);
    for (const name of Object.keys(others))
      for (const first of [true, false]) await mixed(address, version, name, first);
  } finally {
    await stop();
  }
}

async function theyPublish(address, version, name, codec) {
  const topic = topicOf(`from-${name}-${codec}`);
  const client = await open([address]);
  const seen = [];
  await client.subscribe(topic, {}, (message) => void seen.push(message));
  const sent = await ask(name, address, "produce", topic, codec, count);
  await until(() => seen.length >= count);
  verdict(
    `Kafka ${version}: ${name} publishes with ${codec}, we read`,
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

async function wePublish(address, version, name, compression) {
  const topic = topicOf(`to-${name}-${compression}`);
  const client = await open([address], { compression });
  const entries = Array.from({ length: count }, (_, n) => {
    return { value: { n }, key: `key-${n % 20}`, headers: { tenant: "zürich" } };
  });
  await client.publishBatch(topic, entries);
  // The partition of each key is that of the other client.
  const theirs = await ask(name, address, "produce", topic, "none", 20);
  const read = await ask(name, address, "consume", topic, count + 20);
  const ours = read.filter(({ headers }) => headers["stoa-id"] !== undefined);
  const places = new Map(theirs.map(({ key, partition }) => [key, partition]));
  verdict(
    `Kafka ${version}: we publish with ${compression}, ${name} reads, keys are in the same partitions`,
    ours.length === count &&
      ours.every(({ key, partition, headers }) => places.get(key) === partition && headers.tenant === "zürich"),
    `${count} sent, ${ours.length} read`,
  );
  await client.close();
}

/** A batch of 600 MB of zeros is a dead letter. Other work continues while it is found out. */
async function bomb(address, version) {
  const client = await open([address], { partitions: 1 });
  const { compressionsAlgorithms, Producer } = await import("@platformatic/kafka");
  const producer = new Producer({ clientId: "bomb", bootstrapBrokers: [address] });
  await client.publish("bomb", "before");
  const packed = compressionsAlgorithms.gzip.compressSync;
  // A record of 600 MB, whose length is written before it.
  compressionsAlgorithms.gzip.compressSync = () => gzipSync(largeRecord(600_000_000), { level: 9 });
  await producer.send({ messages: [{ topic: "bomb", value: Buffer.from("x") }], compression: "gzip" });
  compressionsAlgorithms.gzip.compressSync = packed;
  await client.publish("bomb", "after");
  await producer.close();
  const seen = [];
  let [longest, last] = [0, performance.now()];
  const watch = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 5);
  await client.subscribe("bomb", {}, ({ value }) => void seen.push(value));
  await until(() => seen.length === 2);
  const dead = await client.deadLetters.list("bomb");
  clearInterval(watch);
  verdict(
    `Kafka ${version}: a batch of 600 MB of zeros is a dead letter`,
    seen.join() === "before,after" && dead.length === 1 && dead[0].reason === "unreadable",
    `the event loop was blocked for at most ${Math.round(longest)} ms`,
  );
  await client.close();
}

/** One record of so many zeros, as batches have it. */
function largeRecord(size) {
  const number = (value) => {
    const bytes = [];
    let rest = value * 2;
    for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
    return Buffer.from([...bytes, rest]);
  };
  const inner = [Buffer.from([0, 0, 0, 1]), number(size), Buffer.alloc(size), Buffer.from([0])];
  return Buffer.concat([number(inner.reduce((sum, { length }) => sum + length, 0)), ...inner]);
}

function topicOf(text) {
  return text.toLowerCase().replaceAll(" ", "-");
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
  const read = await ask("librdkafka", address, "consume", "whole", 10);
  verdict(
    `Kafka ${version}: librdkafka reads transactions whole`,
    read.length === 10 && read.every(({ value }) => value !== '"never"'),
    `${read.length} read`,
  );
  await client.close();
}

/** Members join and leave while messages are handled and transactions are committed. */
async function joins(address, version) {
  const total = 2000;
  const reader = await open([address]);
  const out = [];
  await reader.subscribe("joins-out", { group: "joins-out" }, ({ value }) => void out.push(value));
  const plain = [];
  const concurrency = 10;
  const slow = async ({ value }) => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    plain.push(value);
  };
  const copy = async (messages, { tx }) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    for (const { value } of messages) await tx.publish("joins-out", value);
  };
  const entries = Array.from({ length: total }, (_, value) => ({ value, key: `k${value % 50}` }));
  for (const topic of ["joins-plain", "joins-in"]) await reader.publishBatch(topic, entries);
  const members = [];
  const count = 6;
  for (let n = 0; n < count; n++) {
    const member = await open([address]);
    members.push(member);
    await member.subscribe("joins-plain", { group: "joins-plain", concurrency }, slow);
    await member.subscribe("joins-in", { group: "joins-in", transactional: true, batch: 20 }, copy);
  }
  // All but one leave again.
  for (const member of members.splice(1)) await member.close();
  await until(() => new Set(out).size === total && new Set(plain).size === total);
  const twice = plain.length - new Set(plain).size;
  verdict(
    `Kafka ${version}: members join and leave`,
    out.length === total &&
      new Set(out).size === total &&
      new Set(plain).size === total &&
      twice <= 2 * count * concurrency,
    `${total} sent, ${out.length} copied in transactions, ${twice} handled twice without`,
  );
  await Promise.all([...members, reader].map((client) => client.close()));
}

/** Another client is a member of the group, first or between ours, and leaves it again. The first member leads a group. */
async function mixed(address, version, name, first) {
  const topic = topicOf(`mixed-${name}-${first}`);
  const group = topic;
  const seen = { ours: [], theirs: [] };
  const clients = [];
  const join = async () => {
    const client = await open([address], { partitions: 6 });
    clients.push(client);
    await client.subscribe(topic, { group, concurrency: 5 }, async ({ value }) => {
      seen.ours.push(value.n);
      await new Promise((resolve) => setTimeout(resolve, 2));
    });
  };
  const joinOther = async () => {
    const [program, ...given] = await others[name]();
    const child = spawn(program, [...given, address, "member", topic, group], { stdio: ["ignore", "pipe", "ignore"] });
    createInterface(child.stdout).on("line", (line) => seen.theirs.push(JSON.parse(JSON.parse(line).value).n));
    return child;
  };
  const publisher = await open([address], { partitions: 6 });
  let count = 0;
  let ending = false;
  const publish = async () => {
    const entries = Array.from({ length: 20 }, (_, n) => ({ value: { n: count + n }, key: `k${(count + n) % 60}` }));
    await publisher.publishBatch(topic, entries);
    count += 20;
  };
  // The topic is there before the other client asks for it.
  await publish();
  const publishing = (async () => {
    for (; !ending; await new Promise((resolve) => setTimeout(resolve, 10))) await publish();
  })();
  let child;
  if (first) {
    child = await joinOther();
    await until(() => seen.theirs.length > 0);
    await join();
  } else {
    await join();
    child = await joinOther();
  }
  await until(() => seen.theirs.length > 0 && seen.ours.length > 0);
  const protocol = await protocolOf(address, group);
  await join();
  const [ours, theirs] = [seen.ours.length, seen.theirs.length];
  await until(() => seen.ours.length > ours + 200 && seen.theirs.length > theirs + 100);
  const ended = child.exitCode ?? "no";
  child.kill("SIGTERM");
  if (child.exitCode === null) await new Promise((resolve) => child.once("exit", resolve));
  ending = true;
  await publishing;
  const all = () => new Set([...seen.ours, ...seen.theirs]).size;
  await until(() => all() === count);
  const twice = seen.ours.length + seen.theirs.length - all();
  // Each of three changes of the group can double what is under way: ours, and a poll of theirs.
  verdict(
    `Kafka ${version}: ${name} in our group, ${first ? "first" : "second"}`,
    all() === count && seen.theirs.length > 0 && ended === "no" && twice <= 3 * 2 * 20,
    `${protocol}: ${count} sent, ${all()} handled, ${seen.theirs.length} by them, ${twice} twice`,
  );
  await Promise.all([...clients, publisher].map((client) => client.close()));
}

async function protocolOf(address, group) {
  const [host, port] = address.split(":");
  const pool = new ConnectionPool("judge");
  const connection = await pool.get({ host, port: Number(port) });
  const { groups } = await describeGroupsV5.api.async(connection, [group], false);
  await pool.close();
  return groups[0].protocolData;
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
  const broker = await createKafkaBroker({ brokers, groupId: "judge", sessionTimeout: 6, ...more });
  return openMessaging(broker, { logger: quiet, timeout: 120 });
}

async function ask(name, ...args) {
  const [program, ...given] = await others[name]();
  const { stdout } = await run(program, [...given, ...args.map(String)], { maxBuffer: 64 * 1024 * 1024 });
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
