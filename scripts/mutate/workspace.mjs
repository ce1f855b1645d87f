import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { applied } from "./mutants.mjs";

const copied = ["src", "test", "examples", "docs", "scripts", "package.json", "tsconfig.json", "vitest.config.ts"];

/** Seconds until a run counts as hanging: what starting takes on a busy machine, and then some for each test file. */
const patience = { start: 60, file: 15 };

/** A copy of the sources and tests in its own folder, in which one mutant at a time is tested. */
export class Workspace {
  #root;
  #folder = mkdtempSync(join(tmpdir(), "stoa-mutants-"));
  #report = join(this.#folder, "report.json");
  #running;

  constructor(root) {
    this.#root = root;
    for (const name of copied) cpSync(join(root, name), join(this.#folder, name), { recursive: true });
    symlinkSync(join(root, "node_modules"), join(this.#folder, "node_modules"));
  }

  /** Runs the steps, each a list of test files, until one fails. */
  async outcomeOf(mutant, steps) {
    const file = join(this.#folder, mutant.path);
    const source = readFileSync(file, "utf8");
    writeFileSync(file, applied(source, mutant));
    try {
      for (const step of steps) {
        const result = await this.#run(step, ["--bail=1"]);
        if (result.timedOut) return { outcome: "timed out" };
        if (!result.passed) return { outcome: "killed", ...this.#failures()[0] };
      }
      return { outcome: "survived" };
    } finally {
      writeFileSync(file, source);
    }
  }

  /** Those of the test files that fail without any fault. */
  async failing(tests) {
    const { passed } = await this.#run(tests);
    return passed ? [] : this.#failures().map(({ test }) => test);
  }

  async #run(tests, more = []) {
    if (tests.length === 0) return { passed: true, timedOut: false };
    rmSync(this.#report, { force: true });
    const options = ["--typecheck.enabled=false", "--reporter=json", `--outputFile=${this.#report}`, ...more];
    // Most of the time of a small run goes into loading sources: they are transformed once, and loaded once for all files.
    const cache = ["--experimental.fsModuleCache", `--experimental.fsModuleCachePath=${join(this.#folder, "cache")}`];
    const shared = tests.some((test) => this.#mocks(test)) ? [] : ["--no-isolate", "--maxWorkers=1"];
    const seconds = patience.start + patience.file * tests.length;
    const code = await this.#vitest([...tests, ...options, ...cache, ...shared], seconds);
    return { passed: code === 0, timedOut: code === null };
  }

  /** True for a file that replaces modules, which must not have been loaded before. */
  #mocks(test) {
    return readFileSync(join(this.#folder, test), "utf8").includes("vi.mock(");
  }

  /** The exit code, or null after the time limit. */
  #vitest(args, seconds) {
    return new Promise((resolve) => {
      const program = join(this.#root, "node_modules/vitest/vitest.mjs");
      // Its own process group, so that workers and programs of tests end with it.
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

  /** The failed files of the last run, each with the first failure in it. */
  #failures() {
    if (!existsSync(this.#report)) return [{ by: "the run broke off" }];
    const { testResults } = JSON.parse(readFileSync(this.#report, "utf8"));
    const failed = testResults.filter(({ status }) => status === "failed");
    if (failed.length === 0) return [{ by: "an error outside of the tests" }];
    return failed.map(({ name, assertionResults }) => {
      const test = name.slice(this.#folder.length + 1);
      const first = assertionResults.find(({ status }) => status === "failed");
      return { test, by: `${test}: ${first?.fullName ?? "the file could not be loaded"}` };
    });
  }

  /** Ends the running processes and removes the copy. */
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
