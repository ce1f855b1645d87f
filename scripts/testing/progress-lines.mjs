/** Seconds between two lines where the output is not a terminal. */
const pause = 20;

/** The progress of runs side by side, as one line: on a terminal always the last one, elsewhere a new one now and then. */
export class ProgressLines {
  #start = Date.now();
  #runs = new Map();
  #timer = process.stdout.isTTY ? undefined : setInterval(() => this.#print(), pause * 1000).unref();

  update(run, counts) {
    this.#runs.set(run, counts);
    if (process.stdout.isTTY) this.#print();
  }

  say(line) {
    console.log(process.stdout.isTTY ? `\r\x1b[2K${line}` : line);
  }

  end() {
    clearInterval(this.#timer);
    if (process.stdout.isTTY) process.stdout.write("\n");
  }

  #print() {
    const line = progressLine([...this.#runs.values()], (Date.now() - this.#start) / 1000);
    if (process.stdout.isTTY) process.stdout.write(`\r\x1b[2K${line}`);
    else console.log(line);
  }
}

/** The rest is estimated by the part of the work that is done. */
export function progressLine(runs, seconds) {
  const sum = (name) => runs.reduce((total, run) => total + run[name], 0);
  const [files, done, part] = [sum("files"), sum("done"), sum("weightDone") / sum("weight")];
  const left = part > 0 ? `, about ${minutes(seconds / part - seconds)} left` : "";
  // Who waits for the last files wants to know which they are.
  const running = runs.flatMap((run) => run.running);
  const last = running.length === 0 || files - done > running.length ? "" : `: ${running.join(", ")}`;
  return `${minutes(seconds)}  ${done} of ${files} files, ${sum("tests")} tests, ${sum("failed")} failed${left}${last}`;
}

export function minutes(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}
