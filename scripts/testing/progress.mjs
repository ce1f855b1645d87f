/** A reporter for vitest: how far the tests are and how long they will take, as one line that is printed now and then. */

/** Seconds between two lines where the output is not a terminal. */
const pause = 20;

export default class Progress {
  #start = Date.now();
  #files = 0;
  #done = 0;
  #failed = 0;
  #tests = 0;
  #timer;

  onTestRunStart(specifications) {
    this.#files = specifications.length;
    this.#start = Date.now();
    this.#timer = setInterval(() => this.#print(), pause * 1000);
    this.#timer.unref();
    console.log(`tests: ${this.#files} files`);
  }

  onTestModuleEnd(module) {
    this.#done++;
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
      tests: this.#tests,
      failed: this.#failed,
      seconds: (Date.now() - this.#start) / 1000,
    });
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[2K${line}`);
    else console.log(line);
  }
}

/** The rest is estimated by the number of files. */
export function progressLine({ files, done, tests, failed, seconds }) {
  const left = done === 0 ? "" : `, about ${minutes((seconds / done) * (files - done))} left`;
  return `${minutes(seconds)}  ${done} of ${files} files, ${tests} tests, ${failed} failed${left}`;
}

function minutes(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}
