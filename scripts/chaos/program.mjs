import { spawn } from "node:child_process";
import { once } from "node:events";
import { pause } from "./wait.mjs";

/** The exit code of a process that could not start, because a service it needs was away. */
export const notStarted = 9;
/** The exit codes of a process that was asked to end: a Java machine ends with 128 and the number of SIGTERM. */
const orderly = [0, notStarted, 128 + 15];

/** A process of a subject, of Node unless it has another command: one that is killed is started again. */
export class Program {
  #file;
  #args;
  #env;
  #command;
  #group;
  #output;
  #child = null;
  #ended = false;
  #stopped = false;
  errors = "";
  /** Ends that no fault explains: errors that nobody caught, and processes that did not end when they were asked to. */
  failures = [];

  /** `group` sends signals to the processes that it has started too; `output` is a file descriptor for what it prints. */
  constructor(
    file,
    args,
    { env = {}, command = process.execPath, group = false, output = /** @type {any} */ ("ignore") } = {},
  ) {
    this.#file = file;
    this.#args = args;
    this.#group = group;
    this.#output = output;
    this.#env = { ...process.env, ...env };
    this.#command = command;
    this.#start();
  }

  get running() {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get pid() {
    return this.#child.pid;
  }

  /** The faults that any process can have. */
  get faults() {
    return {
      kill: (random) => this.kill(random.between(0, 500)),
      term: async () => {
        await this.#stop("SIGTERM");
        this.#start();
      },
      stop: (random) => this.freeze(random.between(500, 8000)),
      starve: async (random) => {
        // It runs a fifth of the time.
        const end = Date.now() + random.between(1000, 3000);
        while (Date.now() < end) {
          this.#signal("SIGSTOP");
          await pause(80);
          this.#signal("SIGCONT");
          await pause(20);
        }
      },
    };
  }

  /** Kills it, and starts it again after a while. */
  async kill(milliseconds) {
    await this.#stop("SIGKILL");
    await pause(milliseconds);
    this.#start();
  }

  async freeze(milliseconds) {
    this.#signal("SIGSTOP");
    await pause(milliseconds);
    this.#signal("SIGCONT");
  }

  /** Ends it in good order, for good. */
  async close(patience = 150_000) {
    this.#ended = true;
    await this.#stop("SIGTERM", patience);
  }

  end() {
    this.#ended = true;
    this.#signal("SIGKILL");
  }

  #start() {
    if (this.#ended) return;
    this.#stopped = false;
    const child = spawn(this.#command, [this.#file, ...this.#args], {
      env: this.#env,
      stdio: ["ignore", this.#output, "pipe"],
      detached: this.#group,
    });
    child.stderr.on("data", (chunk) => {
      this.errors = `${this.errors}${chunk}`.slice(-4000);
    });
    child.on("exit", async (code, signal) => {
      // One that ends by itself has failed: it is started again, as a service would be.
      if (this.#stopped || this.#ended || this.#child !== child) return;
      if (code !== notStarted) this.failures.push(`a process ended by itself (${code ?? signal}): ${this.errors}`);
      await pause(200);
      // A fault may have started it again meanwhile.
      if (this.#child === child && !this.#stopped) this.#start();
    });
    this.#child = child;
  }

  #signal(signal) {
    if (!this.running) return;
    // Workers end as their supervisor tells them.
    if (this.#group && signal !== "SIGTERM") process.kill(-this.#child.pid, signal);
    else this.#child.kill(signal);
  }

  async #stop(signal, patience = 150_000) {
    this.#stopped = true;
    if (!this.running) return;
    const exit = once(this.#child, "exit");
    this.#signal(signal);
    const timer = setTimeout(() => {
      this.failures.push(`a process did not end within ${patience / 1000} s of ${signal}: ${this.errors}`);
      this.#signal("SIGKILL");
    }, patience);
    const [code] = await exit;
    clearTimeout(timer);
    if (code !== null && !orderly.includes(code)) {
      this.failures.push(`a process that was asked to end failed (${code}): ${this.errors}`);
    }
  }
}
