/** `npm run bench`: duels of servers, start-up, type checking. CONTRIBUTING.md explains the method. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onOrphaned, root } from "../scripts/process.mjs";
import { ensureBuilt, ensureInstalled } from "../scripts/setup.mjs";
import { toSvg } from "./lib/chart.mjs";
import { measureCosts } from "./lib/costs.mjs";
import { stopDatabase } from "./lib/database.mjs";
import { loadAll } from "./lib/load.mjs";
import { describeMachine, prepareMachine } from "./lib/machine.mjs";
import { matchesOf, revisionMatches } from "./lib/matches.mjs";
import { measureWorkload } from "./lib/measure.mjs";
import { readOptions, usage } from "./lib/options.mjs";
import { startRedis, stopRedis } from "./lib/redis.mjs";
import { toMarkdown } from "./lib/report.mjs";
import { buildRevision, currentRevision } from "./lib/revision.mjs";
import { startServer, stopServers } from "./lib/server.mjs";
import { measureStartup } from "./lib/startup.mjs";
import { chooseStores, measureStores, storesOfRevisions } from "./lib/stores.mjs";
import { measureTypes } from "./lib/types.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const peerFile = (name) => join(here, "peers", `${name}.mjs`);
const bun = join(here, "node_modules/bun/bin/bun.exe");
const log = (line) => console.error(line);
let leaving;

const known = new Set([...(await namesIn("peers")), ...(await namesIn("stores"))]);
const folder = await mkdtemp(join(tmpdir(), "stoa-bench-"));
process.env.BENCH_FOLDER = folder;
process.on("exit", stopServers);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => leave(130));
onOrphaned(() => leave(143));
try {
  const options = readOptions(
    process.argv.slice(2),
    [...known].filter((name) => name !== "node" && name !== "pg"),
    await loadAll("workloads"),
  );
  if (options.help) console.log(usage);
  else await bench(options);
} catch (error) {
  // Errors while everything is being stopped are expected.
  if (!leaving) log(error.message);
  process.exitCode = 1;
}
await leave(process.exitCode ?? 0);

async function bench(options) {
  await prepareMachine();
  await ensureInstalled();
  const [stored, served] = [true, false].map((orm) =>
    options.workloads.filter(({ group }) => (group === "orm") === orm),
  );
  const needsBuild = options.compare || options.types || options.peers.some((name) => name.startsWith("stoa"));
  if (needsBuild && !process.env.STOA_DIST) await ensureBuilt();
  const { base, contestants, versions, unavailable } = options.compare
    ? await revisions(options.compare)
    : await peers(served.length > 0 || options.startup > 0 ? await chosen("peers", options) : []);
  const results = {
    machine: describeMachine(),
    versions,
    options: { ...options.duel, quick: options.quick },
    base: base.name,
    contestants: contestants.map(({ name }) => name),
    unavailable,
    workloads: [],
    special: [],
    scales: [],
    database: { workloads: [], contestants: [] },
  };
  if (served.some(({ needs }) => needs === "redis")) await startRedis(log);
  for (const workload of served) {
    const own = workload.base ? { name: workload.base, file: peerFile(workload.base) } : base;
    const entered = contestants.filter(({ name }) => workload.peers?.includes(name) ?? true);
    const matches = options.compare ? revisionMatches(workload, base, contestants) : matchesOf(workload, own, entered);
    if (matches.length === 0) {
      log(`${workload.key}: ${workload.name}: none of the chosen peers takes part`);
      continue;
    }
    const kind = options.compare || !workload.peers ? "workloads" : workload.variants ? "scales" : "special";
    results[kind].push(await measureWorkload(workload, matches, options.duel, folder, log));
  }
  if (stored.length > 0) {
    const stores = options.compare
      ? storesOfRevisions({ base, contestants })
      : await chooseStores(await chosen("stores", options), log);
    unavailable.push(...stores.unavailable);
    results.database = await measureStores(stored, stores, options.duel, folder, log);
  }
  if (options.costs) {
    log("the cost of each battery ...");
    results.costs = await measureCosts(peerFile("stoa"), options.duel, folder);
  }
  if (options.startup > 0) {
    log("start-up ...");
    const [workload] = await loadAll("workloads");
    results.startup = await measureStartup(base, contestants, workload, options.startup);
  }
  if (options.types) {
    log("type check ...");
    results.types = await measureTypes(join(folder, "types"), options.types).catch(({ message }) => ({
      error: message,
    }));
  }
  await write(results);
  const duels = [...results.workloads, ...results.special, ...results.scales, ...results.database.workloads];
  const failed = [...duels.flatMap((workload) => workload.contestants), ...(results.startup ?? [])];
  if (results.types?.error || failed.some(({ error }) => error)) process.exitCode = 1;
}

async function peers(names) {
  await ensureInstalled(here);
  const { dependencies, optionalDependencies } = JSON.parse(await readFile(join(here, "package.json"), "utf8"));
  const versions = Object.entries({ ...dependencies, ...optionalDependencies });
  const contestants = [];
  const unavailable = [];
  for (const name of names) {
    const contestant = { name, file: peerFile(name), ...(name.endsWith("-bun") && { runtime: bun }) };
    const reason = contestant.runtime && (await whyNot(contestant));
    if (reason) unavailable.push({ name, reason });
    else contestants.push(contestant);
  }
  return {
    base: { name: "node:http", file: peerFile("node") },
    contestants,
    unavailable,
    versions: [await stoaVersion(), ...versions.map(([name, version]) => ({ name, version }))],
  };
}

/** A runtime other than Node.js is optional: why it does not run here, or undefined when it does. */
async function whyNot(contestant) {
  const [workload] = await loadAll("workloads");
  try {
    const server = await startServer(contestant, workload);
    await server.stop();
  } catch ({ message }) {
    log(`${contestant.name}: not available: ${message}`);
    return message;
  }
}

async function revisions(revision) {
  const target = join(folder, "revision");
  await mkdir(target);
  log(`building ${revision} ...`);
  const commit = await buildRevision(revision, target);
  return {
    base: { name: commit, file: peerFile("stoa"), env: { STOA_DIST: target } },
    contestants: [{ name: "working tree", file: peerFile("stoa") }],
    unavailable: [],
    versions: [await stoaVersion(), { name: revision, version: commit }],
  };
}

async function stoaVersion() {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  return { name: "stoa", version: [version, currentRevision()].filter(Boolean).join(" at ") };
}

async function write(results) {
  const markdown = toMarkdown(results);
  const target = join(here, "results");
  await mkdir(target, { recursive: true });
  await writeFile(join(target, "results.md"), markdown);
  await writeFile(join(target, "results.json"), `${JSON.stringify(results, null, 2)}\n`);
  if ([...results.workloads, ...results.special, ...results.database.workloads].length > 0) {
    await writeFile(join(target, "results.svg"), toSvg(results));
  }
  console.log(markdown);
  log("written to bench/results");
}

/** Runs once, even if called again: a second Ctrl-C does not leave the database behind. */
function leave(code) {
  leaving ??= (async () => {
    stopServers();
    await stopDatabase();
    await stopRedis();
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    process.exit(code);
  })();
  return leaving;
}

async function chosen(folder, { peers }) {
  return (await namesIn(folder)).filter((name) => peers.includes(name));
}

/** The modules of a folder beside this file, ours first. */
async function namesIn(name) {
  return (await readdir(join(here, name))).map((file) => file.replace(".mjs", "")).sort(stoaFirst);
}

function stoaFirst(a, b) {
  return Number(b.startsWith("stoa")) - Number(a.startsWith("stoa")) || a.localeCompare(b);
}
