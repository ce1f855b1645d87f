/** A task calls `end` once, when it has ended. */
export type Task = (end: () => void) => void;

/**
 * Runs tasks, at most so many at a time. Tasks of one key run one after the other, in the order in which they were added;
 * tasks without a key run as soon as there is room.
 */
export class Lanes {
  readonly #limit: number;
  /** Started as soon as there is room. */
  readonly #ready: (() => void)[] = [];
  /** The keys in use, each with the tasks that wait for the one that runs. */
  readonly #lanes = new Map<string, Task[] | null>();
  readonly #idle: (() => void)[] = [];
  #running = 0;
  #tasks = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Tasks that run now. */
  get running(): number {
    return this.#running;
  }

  add(key: string | null, task: Task): void {
    this.#tasks++;
    if (key !== null) {
      const lane = this.#lanes.get(key);
      if (lane !== undefined) {
        if (lane === null) this.#lanes.set(key, [task]);
        else lane.push(task);
        return;
      }
      this.#lanes.set(key, null);
    }
    if (this.#running < this.#limit) {
      this.#running++;
      this.#run(key, task);
    } else this.#ready.push(() => this.#run(key, task));
  }

  /** Called by a task: waits without taking up room. Other tasks of its key still wait for it. */
  async outside<T>(wait: () => Promise<T>): Promise<T> {
    this.#leave();
    try {
      return await wait();
    } finally {
      await new Promise<void>((resolve) => this.#enter(resolve));
    }
  }

  /** Resolves when all tasks have ended. */
  idle(): Promise<void> {
    if (this.#tasks === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #run(key: string | null, task: Task): void {
    task(() => {
      this.#leave();
      if (key !== null) this.#next(key);
      if (--this.#tasks === 0) for (const resolve of this.#idle.splice(0)) resolve();
    });
  }

  #next(key: string): void {
    const task = this.#lanes.get(key)?.shift();
    if (task === undefined) this.#lanes.delete(key);
    else this.#enter(() => this.#run(key, task));
  }

  #enter(begin: () => void): void {
    if (this.#running >= this.#limit) {
      this.#ready.push(begin);
      return;
    }
    this.#running++;
    begin();
  }

  #leave(): void {
    this.#running--;
    const next = this.#ready.shift();
    if (next === undefined) return;
    this.#running++;
    next();
  }
}
