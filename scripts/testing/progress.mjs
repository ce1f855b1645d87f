/** A reporter for vitest: how far the tests are and how long they will take, as one line that is printed now and then. */
import { readFileSync } from "node:fs";
import { weightOf } from "./long-first.mjs";

/** Seconds between two lines where the output is not a terminal. */
const pause = 20;

/**
 * Seconds without the end of any test, after which the processes of the tests are killed: one whose event loop is blocked would
 * run for ever, because the time limit of its test is a timer in it. Longer than the longest of these limits.
 */
const longestSilence = Number(process.env.STOA_TEST_SILENCE ?? 16 * 60);

export default class Progress {
  #start = Date.now();
  #files = 0;
  #done = 0;
  #weight = 0;
  #weightDone = 0;
  #failed = 0;
  #tests = 0;
  #running = new Set();
  #timer;
  #lastEnd = Date.now();

  onTestRunStart(specifications) {
    this.#files = specifications.length;
    for (const specification of specifications) this.#weight += weightOf(specification);
    this.#start = Date.now();
    this.#lastEnd = Date.now();
    this.#timer = setInterval(() => this.#tick(), Math.min(pause, longestSilence) * 1000);
    this.#timer.unref();
    console.log(`tests: ${this.#files} files`);
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
    this.#done++;
    this.#weightDone += weightOf(module);
    for (const test of module.children.allTests()) {
      this.#tests++;
      if (test.result().state !== "failed") continue;
      this.#failed++;
      this.#say(`FAILED  ${module.relativeModuleId} > ${test.name}`);
    }
    if (module.state() === "failed" && module.errors().length > 0) this.#say(`FAILED  ${module.relativeModuleId}`);
    if (process.stdout.isTTY) this.#print();
  }

  /** Named at once; the errors are shown at the end. */
  #say(line) {
    console.log(process.stdout.isTTY ? `\r\x1b[2K${line}` : line);
  }

  onTestRunEnd() {
    clearInterval(this.#timer);
    if (process.stdout.isTTY) process.stdout.write("\n");
  }

  #tick() {
    this.#print();
    if (Date.now() - this.#lastEnd < longestSilence * 1000) return;
    this.#lastEnd = Date.now();
    this.#say(`FAILED  no test has ended for ${minutes(longestSilence)}; killed: ${[...this.#running].join(", ")}`);
    for (const pid of childrenOf(process.pid)) process.kill(pid, "SIGKILL");
  }

  #print() {
    const line = progressLine({
      files: this.#files,
      done: this.#done,
      part: this.#weightDone / this.#weight,
      tests: this.#tests,
      failed: this.#failed,
      seconds: (Date.now() - this.#start) / 1000,
      running: this.#running,
    });
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[2K${line}`);
    else console.log(line);
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

/** The rest is estimated by the part of the work that is done. */
export function progressLine({ files, done, part, tests, failed, seconds, running }) {
  const left = part === 0 ? "" : `, about ${minutes(seconds / part - seconds)} left`;
  // Who waits for the last files wants to know which they are.
  const last = files - done > running.size ? "" : `: ${[...running].join(", ")}`;
  return `${minutes(seconds)}  ${done} of ${files} files, ${tests} tests, ${failed} failed${left}${last}`;
}

function minutes(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}
