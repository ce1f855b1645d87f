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
  ["types", () => runNode(bin.tsc, ["--noEmit"])],
  ["import cycles", () => runNode(join(root, "scripts/check-cycles.mjs"), [])],
  ["floors", () => runNode(join(root, "scripts/check-floors.mjs"), [])],
  ["regular expressions", () => runNode(join(root, "scripts/check-expressions.mjs"), [])],
  ["names of tests", () => runNode(join(root, "scripts/check-test-names.mjs"), [])],
];

const total = { passed: 0, failed: 0, skipped: 0 };
const vitestArguments = process.argv.slice(2);
let interrupted;
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => interrupt(signal));
onOrphaned(() => interrupt("SIGTERM"));

await check("packages", () => ensureInstalled());
if (total.failed === 0) {
  await check("build", () => (vitestArguments.length === 0 ? build() : ensureBuilt()));
  if (vitestArguments.length === 0) {
    for (const [name, start] of checks) await check(name, () => succeed(start()));
  }
  if (!interrupted) await tests();
}
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

async function tests() {
  const filters = vitestArguments.filter((argument) => !argument.startsWith("-"));
  const services = await startServices(await neededServices(join(root, "test"), filters));
  const folder = await mkdtemp(join(tmpdir(), "stoa-test-"));
  try {
    if (!interrupted) await vitest(join(folder, "result.json"), services.env);
  } finally {
    await services.stop();
    await rm(folder, { recursive: true, force: true });
  }
  reportMissing(services.unavailable);
}

async function vitest(file, env) {
  const first = await runVitest(file, env, vitestArguments);
  const { results, outside } = await steadied(first, (files) => runVitest(file, env, [...files, "--no-coverage"]));
  addResults(results);
  // An error outside of any test, or no file found for a filter: only the exit code tells.
  if (outside) total.failed++;
}

async function runVitest(file, env, args) {
  await rm(file, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  const { code } = await runNode(bin.vitest, ["run", ...reporters, ...args], {
    env: { ...process.env, ...env },
    inherit: true,
  });
  const results = await readFile(file, "utf8").then(JSON.parse, () => ({ testResults: [] }));
  return { code, results };
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
