/**
 * Checks the models of docs/models with spin, in every order of every step: lease and fencing of sagas, and the checkpoint of
 * projections. Then it takes a comparison out of each and expects the check to fail, so that a model which proves nothing is
 * noticed. Needs `spin` (Debian: apt install spin; or SPIN=path) and a C compiler.
 *
 *     node scripts/judges/model.mjs
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const spin = process.env.SPIN ?? "spin";
const read = (name) => readFileSync(fileURLToPath(new URL(`../../docs/models/${name}`, import.meta.url)), "utf8");

/** Returns the number of states and of errors that the check found. */
function check(text) {
  const folder = mkdtempSync(join(tmpdir(), "stoa-model-"));
  const run = (command, args) => {
    const { status, stdout, error } = spawnSync(command, args, { cwd: folder, encoding: "utf8" });
    if (error || status !== 0) throw new Error(`${command} failed: ${error?.message ?? stdout}`);
    return stdout;
  };
  try {
    writeFileSync(join(folder, "model.pml"), text);
    run(spin, ["-a", "model.pml"]);
    run(process.env.CC ?? "cc", ["-O2", "-DSAFETY", "-o", "pan", "pan.c"]);
    const report = run(join(folder, "pan"), ["-m1000000", "-w24"]);
    const [, states] = /(\d+) states, stored/.exec(report) ?? [];
    const [, errors] = /errors: (\d+)/.exec(report) ?? [];
    if (errors === undefined || /Search not completed|max search depth too small/.test(report) !== (errors !== "0")) {
      throw new Error(`the search did not end:\n${report}`);
    }
    return { states: Number(states), errors: Number(errors) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const lease = read("lease.pml");
judge(
  "lease and fencing",
  lease,
  "the check of the token",
  lease
    .replaceAll(":: token == mine ->", ":: true ->")
    .replaceAll(":: else -> held = false", ":: false -> held = false"),
);
const checkpoint = read("checkpoint.pml");
judge(
  "checkpoint of projections",
  checkpoint,
  "the check of the position",
  checkpoint.replace(" && position == at ->", " ->"),
);

function judge(name, model, missing, weaker) {
  const whole = check(model);
  console.log(`${name}: ${whole.states} states, ${whole.errors} errors`);
  const { errors } = check(weaker);
  console.log(`without ${missing}: ${errors} errors, as expected of a model that sees the difference`);
  if (whole.errors > 0 || errors === 0) process.exitCode = 1;
}
