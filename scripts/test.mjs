/**
 * `npm test`: every check, and every behaviour once. `npm test -- --all` adds what takes long. `npm test -- <filters and
 * options of vitest>` runs a part of the tests. `--busy` keeps two cores busy beside them: no test may fail for slowness.
 * The last line is the total.
 */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { ensurePacked } from "./pack.mjs";
import { bin, exitCodeOf, onOrphaned, root, runNode, signalRunning } from "./process.mjs";
import { neededServices, startServices } from "./services/index.mjs";
import { ensureBuilt, ensureInstalled } from "./setup.mjs";
import { leaveAuthoritiesToNpm } from "./testing/authorities.mjs";
import { endMarked, mark } from "./testing/leftovers.mjs";
import { ProgressLines } from "./testing/progress-lines.mjs";
import { makeTemporaryFolder } from "./testing/temporary.mjs";

const checks = [
  ["format and lint", () => runNode(bin.biome, ["check", ".", "--error-on-warnings"])],
  ["import cycles", () => runNode(join(root, "scripts/check-cycles.mjs"), [])],
  ["floors", () => runNode(join(root, "scripts/check-floors.mjs"), [])],
  ["regular expressions", () => runNode(join(root, "scripts/check-expressions.mjs"), [])],
  ["names of tests", () => runNode(join(root, "scripts/check-test-names.mjs"), [])],
];

const all = process.argv.includes("--all");
const busy = process.argv.includes("--busy");
const vitestArguments = process.argv.slice(2).filter((argument) => argument !== "--all" && argument !== "--busy");
const isWhole = vitestArguments.length === 0;
if (all) process.env.STOA_LONG = "1";
const run = `${process.pid}-${Date.now()}`;

const total = { passed: 0, failed: 0, skipped: 0 };
const failures = [];
const temporary = await makeTemporaryFolder({ all });
let interrupted;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => interrupt(signal));
onOrphaned(() => interrupt("SIGTERM"));

process.env[mark] = run;
process.env.TMPDIR = temporary;
leaveAuthoritiesToNpm(process.env, temporary);
const loops = busy ? [1, 2].map(() => spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" })) : [];
// Services need no packages: what a new machine lacks of both is fetched at the same time.
const starting = requestedServices();
await check("packages", () => ensureInstalled());
if (total.failed === 0) await check("build", isWhole ? buildAndPack : ensureBuilt);
const services = await starting;
try {
  if (total.failed === 0) {
    // No test needs the types or the checks, and tests that wait leave a core to them.
    const checked = isWhole ? [check("types", types), runChecks()] : [];
    if (!interrupted) await tests(services.env);
    await Promise.all(checked);
  }
} finally {
  await services.stop();
  for (const loop of loops) loop.kill("SIGKILL");
}
reportMissing(services.unavailable);
for (const { pid, command } of endMarked(run)) console.log(`ended a process that was left: ${pid} ${command}`);
await rm(temporary, { recursive: true, force: true });
if (failures.length > 0) console.log(`\n${failures.join("\n\n")}\n`);
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(interrupted ? exitCodeOf(interrupted) : total.failed > 0 ? 1 : 0);

function interrupt(signal) {
  interrupted = signal;
  signalRunning(signal);
}

/** A check that fails shows its output at the end of the run, where it is found. */
async function check(name, body) {
  if (interrupted) return;
  const start = performance.now();
  let problem;
  try {
    await body();
  } catch (error) {
    problem = error.message;
  }
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${problem === undefined ? "ok    " : "FAILED"}  ${name} (${seconds} s)`);
  if (problem !== undefined) failures.push(`FAILED  ${name}\n${problem.trimEnd()}`);
  total[problem === undefined ? "passed" : "failed"]++;
}

async function succeed(running) {
  const { code, output } = await running;
  if (code !== 0) throw new Error(output);
}

async function runChecks() {
  for (const [name, start] of checks) await check(name, () => succeed(start()));
}

/** Packed once, for all tests that install the package. Bundling in this process would hold up the start of services. */
async function buildAndPack() {
  await succeed(runNode(join(root, "scripts/build.mjs"), []));
  await ensurePacked();
}

async function requestedServices() {
  const filters = vitestArguments.filter((argument) => !argument.startsWith("-"));
  const wanted = await neededServices([join(root, "test"), join(root, "examples")], filters);
  if (wanted.length > 0) console.log(`services: ${wanted.map(({ name }) => name).join(", ")}`);
  return startServices(wanted, { log: console.log, isOver: () => interrupted !== undefined });
}

/** The compiler runs once for the whole project: its errors in type tests count as those tests, all others as the check. */
async function types() {
  const { code, output, results } = await runVitest(process.env, ["--project=types"], { inherit: false });
  addResults(results);
  if (code !== 0) throw new Error(output);
}

async function tests(services) {
  const env = { ...process.env, ...services };
  if (!isWhole) return addRun(await runVitest(env, vitestArguments));
  // Some files compute all the time, others wait for programs and brokers most of it: side by side, no core is idle.
  const lines = new ProgressLines();
  const halves = [["shared"], ["alone", "programs", "writing", "replacing"]];
  // A game day has a load of its own and judges how long responses take: with --all it comes after the others.
  const gameDay = "test/scripts/game-day.test.ts";
  const runs = await Promise.all(
    halves.map((projects, index) => {
      const onMessage = ({ line, counts }) => (counts ? lines.update(index, counts) : lines.say(line));
      const args = [...projects.map((name) => `--project=${name}`), ...(all ? [`--exclude=${gameDay}`] : [])];
      return runVitest({ ...env, VITEST_MAX_WORKERS: "3" }, args, { inherit: false, onMessage });
    }),
  );
  lines.end();
  for (const { output } of runs) console.log(output);
  for (const run of runs) addRun(run);
  if (all && !interrupted) addRun(await runVitest(env, [gameDay]));
}

function addRun({ code, results }) {
  const failedBefore = total.failed;
  addResults(results);
  // An error outside of any test, or no file found for a filter: only the exit code tells.
  if (code !== 0 && total.failed === failedBefore) total.failed++;
}

async function runVitest(env, args, { inherit = true, onMessage } = {}) {
  const file = join(await mkdtemp(join(temporary, "run-")), "result.json");
  const progress = join(root, "scripts/testing/progress.mjs");
  const shown = isWhole ? [`--reporter=${progress}`, "--reporter=minimal"] : ["--reporter=default"];
  const reporters = [...shown, "--reporter=json", `--outputFile.json=${file}`];
  const { code, output } = await runNode(bin.vitest, ["run", ...reporters, ...args], { env, inherit, onMessage });
  const results = await readFile(file, "utf8").then(JSON.parse, () => ({ testResults: [] }));
  if (process.env.STOA_TEST_TIMES) await reportTimes(results);
  return { code, output, results };
}

/** `STOA_TEST_TIMES=20` prints the files that took longest. */
async function reportTimes({ testResults }) {
  const times = testResults.map(({ name, startTime, endTime }) => [
    (endTime - startTime) / 1000,
    name.slice(root.length),
  ]);
  times.sort(([a], [b]) => b - a);
  for (const [seconds, name] of times.slice(0, Number(process.env.STOA_TEST_TIMES))) {
    console.log(`${seconds.toFixed(1).padStart(8)} s  ${name}`);
  }
}

function addResults({ testResults }) {
  for (const { status, assertionResults } of testResults) {
    // A file that could not be loaded has no tests to count.
    if (status === "failed" && assertionResults.every((test) => test.status !== "failed")) total.failed++;
    for (const test of assertionResults) {
      if (test.status === "passed" || test.status === "failed") total[test.status]++;
      else total.skipped++;
    }
  }
}

function reportMissing(unavailable) {
  if (unavailable.length === 0) return;
  console.log("SKIPPED SERVICES:");
  for (const { name, reason } of unavailable) console.log(`  ${name}: ${reason}`);
  if (/^(1|true)$/i.test(process.env.CI ?? "")) {
    console.log("  (a failure, because CI is set)");
    total.failed += unavailable.length;
  }
}
