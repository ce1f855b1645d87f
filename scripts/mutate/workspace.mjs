import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applied } from "./mutants.mjs";

const copied = ["src", "test", "examples", "docs", "scripts", "package.json", "tsconfig.json", "vitest.config.ts"];

/** Seconds until a run counts as hanging: what starting takes on a busy machine, and then some for each test file. */
const patience = { start: 60, file: 15 };

/** A copy of the sources and tests in a folder of its own, in which one mutant at a time is tested. */
export class Workspace {
  #root;
  #folder = mkdtempSync(join(tmpdir(), "stoa-mutants-"));
  #running;
  /** Test files, and whether they pass without any fault. */
  #sound = new Map();

  constructor(root) {
    this.#root = root;
    for (const name of copied) cpSync(join(root, name), join(this.#folder, name), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(this.#folder, "node_modules"));
  }

  /** Runs the steps, each a list of test files, until one fails. */
  async outcomeOf(mutant, steps) {
    const source = readFileSync(join(this.#root, mutant.path), "utf8");
    const write = (text) => writeFileSync(join(this.#folder, mutant.path), text);
    for (const step of steps) {
      for (;;) {
        write(applied(source, mutant));
        const result = await this.#run(step.filter((test) => this.#sound.get(test) !== false));
        write(source);
        if (result === "passed") break;
        if (result === "timed out") return { outcome: "timed out" };
        // A test that fails without the fault too says nothing about it.
        if (!result.file || (await this.#isSound(result.file))) return { outcome: "killed", by: result.by };
      }
    }
    return { outcome: "survived" };
  }

  async #isSound(test) {
    if (!this.#sound.has(test)) this.#sound.set(test, (await this.#run([test])) === "passed");
    return this.#sound.get(test);
  }

  async #run(tests) {
    if (tests.length === 0) return "passed";
    const report = join(this.#folder, "report.json");
    rmSync(report, { force: true });
    const options = ["--bail=1", "--typecheck.enabled=false", "--reporter=json", `--outputFile=${report}`];
    // Transformed sources are kept from run to run: most of the time of a small run.
    const cache = ["--experimental.fsModuleCache", `--experimental.fsModuleCachePath=${join(this.#folder, "cache")}`];
    const code = await this.#vitest([...tests, ...options, ...cache], patience.start + patience.file * tests.length);
    if (code === 0) return "passed";
    return code === null ? "timed out" : this.#firstFailure(report);
  }

  /** The exit code, or null after the time limit. */
  #vitest(args, seconds) {
    return new Promise((resolve) => {
      const program = join(this.#root, "node_modules/vitest/vitest.mjs");
      // A process group of its own, so that workers and programs of tests end with it.
      const child = spawn(process.execPath, [program, "run", ...args], {
        cwd: this.#folder,
        detached: true,
        stdio: "ignore",
      });
      this.#running = child;
      let late = false;
      const timer = setTimeout(() => {
        late = true;
        this.#end();
      }, seconds * 1000);
      child.on("close", (code) => {
        clearTimeout(timer);
        this.#running = undefined;
        resolve(late ? null : (code ?? 1));
      });
    });
  }

  #firstFailure(report) {
    let results = [];
    try {
      results = JSON.parse(readFileSync(report, "utf8")).testResults;
    } catch {
      // No report: the run broke off.
    }
    const failed = results.find(({ status }) => status === "failed");
    if (!failed) return { by: "an error outside of the tests" };
    const file = failed.name.slice(this.#folder.length + 1);
    const test = failed.assertionResults.find(({ status }) => status === "failed");
    return { file, by: `${file}: ${test?.fullName ?? "the file could not be loaded"}` };
  }

  /** Ends what runs, and removes the copy. */
  remove() {
    this.#end();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #end() {
    if (!this.#running?.pid) return;
    try {
      process.kill(-this.#running.pid, "SIGKILL");
    } catch {
      // It has just ended by itself.
    }
  }
}
