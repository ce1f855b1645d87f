/** Waits for room. */
class Waiting {
  readonly begin: () => void;

  constructor(begin: () => void) {
    this.begin = begin;
  }
}

/**
 * Runs tasks, at most so many at a time. Tasks of one key run one after the other, in the order in which they were added;
 * tasks without a key run as soon as there is room.
 */
export class Lanes<Task extends object> {
  readonly #limit: number;
  readonly #run: (task: Task) => void;
  /** Started as soon as there is room. */
  readonly #ready: (Task | Waiting)[] = [];
  /** The keys in use, each with the tasks that wait for the one that runs. */
  readonly #lanes = new Map<string, Task[] | null>();
  readonly #idle: (() => void)[] = [];
  #running = 0;
  #tasks = 0;

  /** @param run starts a task; `end` must be called once when it has ended, and not before `run` has returned */
  constructor(limit: number, run: (task: Task) => void) {
    this.#limit = limit;
    this.#run = run;
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
    this.#enter(task);
  }

  /** A task of this key has ended. */
  end(key: string | null): void {
    this.#leave();
    if (key !== null) this.#next(key);
    if (--this.#tasks === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Called by a task: waits without taking up room. Other tasks of its key still wait for it. */
  async outside<T>(wait: () => Promise<T>): Promise<T> {
    this.#leave();
    try {
      return await wait();
    } finally {
      await new Promise<void>((resolve) => this.#enter(new Waiting(resolve)));
    }
  }

  /** Resolves when all tasks have ended. */
  idle(): Promise<void> {
    if (this.#tasks === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #next(key: string): void {
    const task = this.#lanes.get(key)?.shift();
    if (task === undefined) this.#lanes.delete(key);
    else this.#enter(task);
  }

  #enter(task: Task | Waiting): void {
    if (this.#running >= this.#limit) {
      this.#ready.push(task);
      return;
    }
    this.#running++;
    this.#begin(task);
  }

  #leave(): void {
    this.#running--;
    const next = this.#ready.shift();
    if (next === undefined) return;
    this.#running++;
    this.#begin(next);
  }

  #begin(task: Task | Waiting): void {
    if (task instanceof Waiting) task.begin();
    else this.#run(task);
  }
}
