/**
 * `npm test`: every check and every test, the total in the last line. `npm test -- <filters and options of vitest>`
 * runs the tests alone.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bin, exitCodeOf, onOrphaned, root, runNode, signalRunning } from "./process.mjs";
import { neededServices, startServices } from "./services/index.mjs";
import { build, ensureBuilt, ensureInstalled } from "./setup.mjs";
import { steadied } from "./steadied.mjs";

const checks = [
  ["format and lint", () => runNode(bin.biome, ["check", ".", "--error-on-warnings"])],
  ["import cycles", () => runNode(join(root, "scripts/check-cycles.mjs"), [])],
  ["floors", () => runNode(join(root, "scripts/check-floors.mjs"), [])],
  ["regular expressions", () => runNode(join(root, "scripts/check-expressions.mjs"), [])],
  ["names of tests", () => runNode(join(root, "scripts/check-test-names.mjs"), [])],
];

const total = { passed: 0, failed: 0, skipped: 0 };
const vitestArguments = process.argv.slice(2);
const isWhole = vitestArguments.length === 0;
const reportFolder = await mkdtemp(join(tmpdir(), "stoa-test-"));
let interrupted;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => interrupt(signal));
onOrphaned(() => interrupt("SIGTERM"));

await check("packages", () => ensureInstalled());
if (total.failed === 0) {
  // One core checks the types while the other one builds, and services are mostly waited for.
  const [services] = await Promise.all([requestedServices(), isWhole && check("types", types), buildAndCheck()]);
  try {
    if (!interrupted) await tests(services.env);
  } finally {
    await services.stop();
  }
  reportMissing(services.unavailable);
}
await rm(reportFolder, { recursive: true, force: true });
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`);
process.exit(interrupted ? exitCodeOf(interrupted) : total.failed > 0 ? 1 : 0);

function interrupt(signal) {
  interrupted = signal;
  signalRunning(signal);
}

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
  if (problem !== undefined) console.log(problem.trimEnd());
  total[problem === undefined ? "passed" : "failed"]++;
}

async function succeed(running) {
  const { code, output } = await running;
  if (code !== 0) throw new Error(output);
}

async function buildAndCheck() {
  await check("build", () => (isWhole ? build() : ensureBuilt()));
  if (!isWhole) return;
  for (const [name, start] of checks) await check(name, () => succeed(start()));
}

async function requestedServices() {
  const filters = vitestArguments.filter((argument) => !argument.startsWith("-"));
  return startServices(await neededServices(join(root, "test"), filters));
}

/** The compiler runs once for the whole project: its errors in type tests count as those tests, all others as the check. */
async function types() {
  const { code, output, results } = await runVitest(process.env, ["--project=types"], { inherit: false });
  addResults(results);
  if (code !== 0) throw new Error(output);
}

async function tests(services) {
  const env = { ...process.env, ...services };
  const first = await runVitest(env, isWhole ? ["--project=!types"] : vitestArguments);
  const { results, outside } = await steadied(first, (files) => runVitest(env, [...files, "--no-coverage"]));
  addResults(results);
  // An error outside of any test, or no file found for a filter: only the exit code tells.
  if (outside) total.failed++;
}

async function runVitest(env, args, { inherit = true } = {}) {
  const file = join(await mkdtemp(join(reportFolder, "run-")), "result.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  const { code, output } = await runNode(bin.vitest, ["run", ...reporters, ...args], { env, inherit });
  const results = await readFile(file, "utf8").then(JSON.parse, () => ({ testResults: [] }));
  return { code, output, results };
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
