/** A reporter for vitest: how far the tests are and how long they will take, as one line that is printed now and then. */
import { weightOf } from "./long-first.mjs";

/** Seconds between two lines where the output is not a terminal. */
const pause = 20;

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

  onTestRunStart(specifications) {
    this.#files = specifications.length;
    for (const specification of specifications) this.#weight += weightOf(specification);
    this.#start = Date.now();
    this.#timer = setInterval(() => this.#print(), pause * 1000);
    this.#timer.unref();
    console.log(`tests: ${this.#files} files`);
  }

  onTestModuleStart(module) {
    this.#running.add(module.relativeModuleId);
  }

  onTestModuleEnd(module) {
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
