/**
 * The real services that tests need. Each is one file here:
 *
 *     export default { name: "redis", env: "STOA_TEST_REDIS", async start({ folder, port }) { ... return { value, stop } } };
 *
 * `start` takes the service from the machine or installs it, starts it on the private port with its data in the
 * temporary folder, and resolves, when it is ready, to the value of the environment variable and a way to stop it. It
 * throws if the service is not available. A test file requests it with `service("redis")` of test/support/service.ts, or
 * names its variable, as the tests of packages in examples/ do; `isLong ? service("django")` is a request of
 * `npm test -- --all` only. A service that needs another names it in `needs`; it is started after it, and finds it in the
 * `env` given to `start`.
 */
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import chromium from "./chromium.mjs";
import confluent from "./confluent.mjs";
import django from "./django.mjs";
import elasticmq from "./elasticmq.mjs";
import kafka from "./kafka.mjs";
import moto from "./moto.mjs";
import nats from "./nats.mjs";
import otlp from "./otlp.mjs";
import pgbouncer from "./pgbouncer.mjs";
import { freePort } from "./ports.mjs";
import postgres from "./postgres.mjs";
import prometheus from "./prometheus.mjs";
import promtool from "./promtool.mjs";
import rabbitmq from "./rabbitmq.mjs";
import redis from "./redis.mjs";
import registry from "./registry.mjs";
import replica from "./replica.mjs";
import rotel from "./rotel.mjs";

/** @type {Service[]} */
export const services = [
  chromium,
  django,
  otlp,
  postgres,
  pgbouncer,
  replica,
  prometheus,
  promtool,
  redis,
  rotel,
  rabbitmq,
  kafka,
  elasticmq,
  moto,
  nats,
  registry,
  confluent,
];

/**
 * @typedef {{ folder: string, port: number, log: (line: string) => void, env: Record<string, string> }} Place
 * @typedef {{ value: string, stop?: () => Promise<void> }} Started
 * @typedef {{ name: string, env: string, needs?: string[], start(place: Place): Promise<Started> }} Service
 */

/**
 * The services that the chosen test files ask for; without a filter, or with one that names no file, all files count.
 *
 * @param {string[]} folders with tests
 * @param {string[]} filters
 * @param {Service[]} known
 */
export async function neededServices(folders, filters = [], known = services) {
  const names = await Promise.all(folders.map((folder) => readdir(folder, { recursive: true })));
  const paths = names.flatMap((list, index) => list.map((name) => join(folders[index], name))).filter(isTest);
  const chosen = paths.filter((path) => filters.some((filter) => path.includes(filter)));
  const texts = await Promise.all((chosen.length > 0 ? chosen : paths).map((path) => readFile(path, "utf8")));
  const asked = known.filter(({ name, env }) => {
    const call = `service("${name}")`;
    const isAsked = (text) =>
      (process.env.STOA_LONG === "1" ? text : text.replaceAll(`isLong ? ${call}`, "")).includes(call);
    return texts.some((text) => isAsked(text) || text.includes(`process.env.${env};`));
  });
  const needed = new Set(asked.flatMap(({ needs = [] }) => needs));
  return known.filter((service) => asked.includes(service) || needed.has(service.name));
}

/**
 * Starts services at once, each after those that it needs, which come before it. Resolves to the environment for the
 * tests, the services that could not be had with the reason, and `stop`, which takes everything down again and may be
 * called at any time and more than once. No further service is started once `isOver` returns true.
 *
 * @param {Service[]} wanted
 */
export async function startServices(wanted, { log = console.error, isOver = () => false } = {}) {
  /** @type {Record<string, string>} */
  const env = {};
  const reasons = new Map();
  const stops = [];
  const stop = async () => {
    for (let undo = stops.pop(); undo; undo = stops.pop()) await undo();
  };
  const start = async (service) => {
    const folder = await mkdtemp(join(tmpdir(), `stoa-${service.name}-`));
    stops.push(() => rm(folder, { recursive: true, force: true }));
    const started = await service.start({ folder, port: await freePort(), log, env });
    if (started.stop) stops.push(started.stop);
    env[service.env] = started.value;
  };
  const starts = new Map();
  const startAfterNeeds = async (service) => {
    try {
      for (const need of service.needs ?? []) {
        await starts.get(need);
        if (!starts.has(need) || reasons.has(need)) throw new Error(`it needs ${need}`);
      }
      if (!isOver()) await start(service);
    } catch (error) {
      reasons.set(service.name, error.message);
    }
  };
  for (const service of wanted) starts.set(service.name, startAfterNeeds(service));
  await Promise.all(starts.values());
  const unavailable = wanted.flatMap(({ name }) => (reasons.has(name) ? { name, reason: reasons.get(name) } : []));
  return { env, unavailable, stop };
}

function isTest(path) {
  return path.endsWith(".test.ts");
}
