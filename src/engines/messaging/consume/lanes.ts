/** The order in which a consumer handles its deliveries. */
export interface Flow<Task> {
  /** Handlers that run now. */
  readonly running: number;
  add(task: Task): void;
  /** Waits without taking up the room of a handler. */
  withoutSlot<T>(wait: () => Promise<T>): Promise<T>;
  /** Starts no further handlers until `resume()`. */
  pause(): void;
  resume(): void;
  /** Resolves when no handler runs. */
  quiet(): Promise<void>;
  /** Resolves when all deliveries have ended. */
  idle(): Promise<void>;
}

/** Waits for room. */
class Waiting {
  constructor(readonly begin: () => void) {}
}

/**
 * Runs tasks, at most so many at a time. Tasks of one key run one after the other, in the order in which they were added;
 * tasks without a key run as soon as there is room.
 */
export class Lanes<Task extends object> implements Flow<Task> {
  readonly #limit: number;
  readonly #keyOf: (task: Task) => string | null;
  readonly #run: (task: Task) => void;
  /** Started as soon as there is room. */
  readonly #ready: (Task | Waiting)[] = [];
  /** The keys in use, each with the tasks that wait for the one that runs. */
  readonly #lanes = new Map<string, Task[] | null>();
  readonly #idle: (() => void)[] = [];
  readonly #quiet: (() => void)[] = [];
  #paused = false;
  #running = 0;
  #tasks = 0;

  /** @param run starts a task; `end` must be called once when it has ended, and not before `run` has returned */
  constructor(limit: number, keyOf: (task: Task) => string | null, run: (task: Task) => void) {
    this.#limit = limit;
    this.#keyOf = keyOf;
    this.#run = run;
  }

  get running(): number {
    return this.#running;
  }

  add(task: Task): void {
    const key = this.#keyOf(task);
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

  /** A task has ended. */
  end(task: Task): void {
    const key = this.#keyOf(task);
    this.#leave();
    if (key !== null) this.#next(key);
    if (--this.#tasks === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Called by a task. Other tasks of its key still wait for it. */
  async withoutSlot<T>(wait: () => Promise<T>): Promise<T> {
    this.#leave();
    try {
      return await wait();
    } finally {
      await new Promise<void>((resolve) => this.#enter(new Waiting(resolve)));
    }
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    this.#paused = false;
    while (this.#running < this.#limit && this.#ready.length > 0) this.#start(this.#ready.shift()!);
  }

  quiet(): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => this.#quiet.push(resolve));
  }

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
    if (this.#paused || this.#running >= this.#limit) this.#ready.push(task);
    else this.#start(task);
  }

  #leave(): void {
    this.#running--;
    const next = this.#paused ? undefined : this.#ready.shift();
    if (next !== undefined) this.#start(next);
    else if (this.#running === 0) for (const resolve of this.#quiet.splice(0)) resolve();
  }

  #start(task: Task | Waiting): void {
    this.#running++;
    if (task instanceof Waiting) task.begin();
    else this.#run(task);
  }
}
