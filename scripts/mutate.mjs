/**
 * Tests the tests: puts one small fault at a time into a copy of the sources and runs the related tests, which should
 * fail. A fault that no test notices ("survived") is a missing test, or a change without an effect.
 *
 *     node scripts/mutate.mjs [--seed N] [--count N] [--only folder,...] [--json file]
 *     node scripts/mutate.mjs --again file [--json file]     runs the survivors of an earlier report again
 *
 * The same seed chooses the same mutants as long as the sources stay the same. Tests of a real service run when its
 * address is in the environment. The working tree is never changed.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { mutantsOf, shown } from "./mutate/mutants.mjs";
import { relatedTests } from "./mutate/related-tests.mjs";
import { sample } from "./mutate/sample.mjs";
import { Workspace } from "./mutate/workspace.mjs";
import { exitCodeOf, root } from "./process.mjs";

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(readOptions(process.argv.slice(2)));

async function main({ seed, count, only, json, again }) {
  const mutants = again ? survivorsIn(again) : sample(mutantsBelow(root, only), { seed, count });
  const workspace = new Workspace(root);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      workspace.remove();
      process.exit(exitCodeOf(signal));
    });
  }
  try {
    const results = await testAll(mutants, workspace, (done) => {
      console.log(`${done.length}/${mutants.length}  ${lineOf(done.at(-1))}`);
      if (json) writeFileSync(json, `${JSON.stringify({ seed, results: done }, null, 2)}\n`);
    });
    if (json) writeFileSync(json, `${JSON.stringify({ seed, results }, null, 2)}\n`);
    summarize(results, again ?? `seed ${seed}`);
  } finally {
    workspace.remove();
  }
}

/** Tests that also fail without a mutation prove nothing: mutants that they killed are tested again without them. */
async function testAll(mutants, workspace, onResult) {
  const stepsOf = relatedTests(root);
  const broken = new Set();
  const outcomeOf = async (mutant) => {
    const steps = stepsOf(mutant.path).map((step) => step.filter((test) => !broken.has(test)));
    return { ...mutant, by: undefined, ...(await workspace.outcomeOf(mutant, steps)) };
  };
  const results = [];
  for (const mutant of mutants) {
    results.push(await outcomeOf(mutant));
    onResult(results);
  }
  const trusted = new Set();
  for (;;) {
    const killers = new Set(results.flatMap(({ test }) => (test && !trusted.has(test) ? [test] : [])));
    for (const test of await workspace.failing([...killers])) broken.add(test);
    for (const test of killers) trusted.add(test);
    const doubtful = results.filter(({ test }) => broken.has(test));
    if (doubtful.length === 0) return results;
    console.log(`${doubtful.length} again, without tests that fail by themselves: ${[...broken].join(", ")}`);
    for (const result of doubtful) results[results.indexOf(result)] = await outcomeOf({ ...result, test: undefined });
  }
}

/** Every mutant of the sources, or of the given folders of src/, with its path and folder. */
export function mutantsBelow(root, only = []) {
  const paths = readdirSync(join(root, "src"), { recursive: true })
    .filter(
      (name) => name.endsWith(".ts") && (only.length === 0 || only.some((folder) => name.startsWith(`${folder}/`))),
    )
    .sort();
  return paths.flatMap((name) => {
    const source = readFileSync(join(root, "src", name), "utf8");
    const folder = only.find((given) => name.startsWith(`${given}/`)) ?? name.split("/")[0];
    return mutantsOf(source, name).map((mutant) => ({
      path: `src/${name}`,
      folder,
      ...mutant,
      ...shown(source, mutant),
    }));
  });
}

/** Found again by their text, because sources move between two runs. */
function survivorsIn(file) {
  const survivors = JSON.parse(readFileSync(file, "utf8")).results.filter(({ outcome }) => outcome === "survived");
  const same = (a, b) => ["path", "kind", "before", "changed"].every((key) => a[key] === b[key]);
  const now = mutantsBelow(root, [...new Set(survivors.map(({ folder }) => folder))]);
  return now.filter((mutant) => survivors.some((survivor) => same(mutant, survivor)));
}

function readOptions(args) {
  const text = { type: "string" };
  const { values } = parseArgs({ args, options: { seed: text, count: text, only: text, json: text, again: text } });
  const number = (name, otherwise) => {
    const value = Number(values[name] ?? otherwise);
    if (!Number.isSafeInteger(value) || value < 0)
      throw new Error(`--${name} takes a whole number, not '${values[name]}'`);
    return value;
  };
  const only = values.only?.split(",").map((folder) => folder.replace(/^src\/|\/$/g, ""));
  return { ...values, seed: number("seed", 1), count: number("count", 20), only };
}

function lineOf({ outcome, path, line, kind, changed, by }) {
  return `${outcome.padEnd(9)}  ${path}:${line}  ${kind}  ${changed}${by ? `\n           by ${by}` : ""}`;
}

function summarize(results, title) {
  const counted = (outcome) => results.filter((result) => result.outcome === outcome);
  const [killed, survived, timedOut] = ["killed", "survived", "timed out"].map(counted);
  console.log(`\n${killed.length} killed, ${survived.length} survived, ${timedOut.length} timed out (${title})`);
  for (const { before, ...survivor } of survived) console.log(`${lineOf(survivor)}\n           was: ${before}`);
}
