import type { Logger } from "../internal/logger.js";
import { ValueError } from "../internal/value-error.js";

export type LifecycleEvent = "startup" | "shutdown";
export type Hook = () => unknown;

/** The startup and shutdown hooks, and where between the two the application stands. */
export class Lifecycle {
  readonly #hooks: Record<LifecycleEvent, Hook[]> = { startup: [], shutdown: [] };
  /** The framework's own, around those of the application. */
  readonly #early: Hook[] = [];
  readonly #late: Hook[] = [];
  #starting: Promise<void> | null = null;
  #stopping: Promise<void> | null = null;
  #phase: "new" | "starting" | "started" | "draining" | "stopped" = "new";

  get phase(): "new" | "starting" | "started" | "draining" | "stopped" {
    return this.#phase;
  }

  add(event: string, hook: Hook): void {
    if (event !== "startup" && event !== "shutdown") {
      throw new ValueError(`onEvent takes 'startup' or 'shutdown', not ${JSON.stringify(event)}`);
    }
    if (typeof hook !== "function") throw new ValueError(`the ${event} hook must be a function`);
    this.#hooks[event].push(hook);
  }

  /** Runs before the first startup hook. */
  before(hook: Hook): void {
    this.#early.push(hook);
  }

  /** Runs after the last shutdown hook; several in reverse. */
  after(hook: Hook): void {
    this.#late.push(hook);
  }

  /** No changes from here on. */
  close(): void {
    this.#phase = "starting";
  }

  /** Prepares once, then runs the startup hooks in order; the first that fails ends the start. */
  start(prepare: () => void | Promise<void>): Promise<void> {
    return (this.#starting ??= this.#start(prepare));
  }

  drain(): void {
    if (this.#phase === "started") this.#phase = "draining";
  }

  /** Runs the shutdown hooks in reverse, each one even when another fails. */
  stop(logger: Logger): Promise<void> {
    return (this.#stopping ??= this.#stop(logger));
  }

  async #start(prepare: () => void | Promise<void>): Promise<void> {
    await prepare();
    this.#phase = "starting";
    for (const hook of [...this.#early, ...this.#hooks.startup]) await hook();
    this.#phase = "started";
  }

  async #stop(logger: Logger): Promise<void> {
    const began = this.#starting !== null;
    await this.#starting?.catch(() => {});
    this.#phase = "stopped";
    if (!began) return;
    for (const hook of [...this.#late, ...this.#hooks.shutdown].reverse()) {
      try {
        await hook();
      } catch (error) {
        logger.error("a shutdown hook failed", { error });
      }
    }
  }
}
