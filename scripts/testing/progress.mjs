/** A reporter for vitest: how far the tests are and how long they will take. */
import { readFileSync } from "node:fs";
import { weightOf } from "./long-first.mjs";
import { minutes, ProgressLines } from "./progress-lines.mjs";

/**
 * Seconds without the end of any test, after which the processes of the tests are killed: one whose event loop is blocked would
 * run for ever, because the time limit of its test is a timer in it. Longer than the longest of these limits.
 */
const longestSilence = Number(process.env.STOA_TEST_SILENCE ?? 16 * 60);

/**
 * What the reporter has to say goes to the process that has started this run, if it listens: it shows several runs as one.
 */
export default class Progress {
  #counts = { files: 0, done: 0, weight: 0, weightDone: 0, tests: 0, failed: 0 };
  #running = new Set();
  #timer;
  #lastEnd = Date.now();
  #lines = process.send ? null : new ProgressLines();

  onTestRunStart(specifications) {
    this.#counts.files = specifications.length;
    for (const specification of specifications) this.#counts.weight += weightOf(specification);
    this.#lastEnd = Date.now();
    this.#timer = setInterval(() => this.#tick(), Math.min(20, longestSilence) * 1000);
    this.#timer.unref();
    this.#print();
  }

  onTestModuleStart(module) {
    this.#running.add(module.relativeModuleId);
  }

  onTestCaseResult() {
    this.#lastEnd = Date.now();
  }

  onTestModuleEnd(module) {
    this.#lastEnd = Date.now();
    this.#running.delete(module.relativeModuleId);
    this.#counts.done++;
    this.#counts.weightDone += weightOf(module);
    for (const test of module.children.allTests()) {
      this.#counts.tests++;
      if (test.result().state !== "failed") continue;
      this.#counts.failed++;
      this.#say(`FAILED  ${module.relativeModuleId} > ${test.name}`);
    }
    if (module.state() === "failed" && module.errors().length > 0) this.#say(`FAILED  ${module.relativeModuleId}`);
    this.#print();
  }

  onTestRunEnd() {
    clearInterval(this.#timer);
    this.#lines?.end();
  }

  #tick() {
    if (Date.now() - this.#lastEnd < longestSilence * 1000) return;
    this.#lastEnd = Date.now();
    this.#say(`FAILED  no test has ended for ${minutes(longestSilence)}; killed: ${[...this.#running].join(", ")}`);
    for (const pid of childrenOf(process.pid)) process.kill(pid, "SIGKILL");
  }

  /** Named at once; the errors are shown at the end. */
  #say(line) {
    if (this.#lines) this.#lines.say(line);
    else process.send({ line });
  }

  #print() {
    const counts = { ...this.#counts, running: [...this.#running] };
    if (this.#lines) this.#lines.update("", counts);
    else process.send({ counts });
  }
}

/** The processes that a process has started and that run. Empty where /proc does not exist. */
function childrenOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}
