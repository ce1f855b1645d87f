/** The order in which a consumer handles its deliveries. */
export interface Flow<Task> {
  /** Handlers that run now. */
  readonly running: number;
  add(task: Task): void;
  /** Waits without taking up the room of a handler. Called by the task. */
  withoutSlot<T>(task: Task, wait: () => Promise<T>): Promise<T>;
  /** Starts no handlers of held tasks until `resume()`. All tasks are held if nothing tells which. */
  pause(isHeld?: IsHeld<Task>): void;
  resume(): void;
  /** Resolves when no handler of such a task runs. */
  quiet(isHeld?: IsHeld<Task>): Promise<void>;
  /** Resolves when all deliveries have ended. */
  idle(): Promise<void>;
}

export type IsHeld<Task> = (task: Task) => boolean;

/** A task that waits for room to continue. */
class Waiting<Task> {
  constructor(
    readonly task: Task,
    readonly begin: () => void,
  ) {}
}

/**
 * Runs tasks, at most so many at a time. Tasks of one key run one after the other, in the order in which they were added;
 * tasks without a key run as soon as there is room.
 */
export class Lanes<Task extends object> implements Flow<Task> {
  /** Started as soon as there is room. */
  readonly #ready: (Task | Waiting<Task>)[] = [];
  /** The keys in use, each with the tasks that wait for the one that runs. */
  readonly #lanes = new Map<string, Task[] | null>();
  readonly #idle: (() => void)[] = [];
  readonly #running = new Set<Task>();
  readonly #quiet = new Quiet<Task>(() => this.#running);
  #isHeld: IsHeld<Task> | null = null;
  #tasks = 0;

  /** @param run starts a task; `end` must be called once when it has ended, and not before `run` has returned */
  constructor(
    private readonly limit: number,
    private readonly keyOf: (task: Task) => string | null,
    private readonly run: (task: Task) => void,
  ) {}

  get running(): number {
    return this.#running.size;
  }

  add(task: Task): void {
    const key = this.keyOf(task);
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
    const key = this.keyOf(task);
    this.#leave(task);
    if (key !== null) this.#next(key);
    if (--this.#tasks === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Other tasks of its key still wait for it. */
  async withoutSlot<T>(task: Task, wait: () => Promise<T>): Promise<T> {
    this.#leave(task);
    try {
      return await wait();
    } finally {
      await new Promise<void>((resolve) => this.#enter(new Waiting(task, resolve)));
    }
  }

  pause(isHeld: IsHeld<Task> = () => true): void {
    this.#isHeld = isHeld;
    this.#fill();
  }

  resume(): void {
    this.#isHeld = null;
    this.#fill();
  }

  quiet(isHeld?: IsHeld<Task>): Promise<void> {
    return this.#quiet.wait(isHeld);
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

  #enter(task: Task | Waiting<Task>): void {
    if (this.#running.size >= this.limit || this.#isHeld?.(taskOf(task))) this.#ready.push(task);
    else this.#start(task);
  }

  #leave(task: Task): void {
    this.#running.delete(task);
    const next = this.#takeReady();
    if (next !== undefined) this.#start(next);
    this.#quiet.check();
  }

  #fill(): void {
    while (this.#running.size < this.limit) {
      const next = this.#takeReady();
      if (next === undefined) return;
      this.#start(next);
    }
  }

  #takeReady(): Task | Waiting<Task> | undefined {
    const isHeld = this.#isHeld;
    if (isHeld === null) return this.#ready.shift();
    const place = this.#ready.findIndex((each) => !isHeld(taskOf(each)));
    return place === -1 ? undefined : this.#ready.splice(place, 1)[0];
  }

  #start(task: Task | Waiting<Task>): void {
    this.#running.add(taskOf(task));
    if (task instanceof Waiting) task.begin();
    else this.run(task);
  }
}

function taskOf<Task>(task: Task | Waiting<Task>): Task {
  return task instanceof Waiting ? task.task : task;
}

/** Callers that wait until no task of a kind runs. */
export class Quiet<Task> {
  #waiting: { readonly isHeld: IsHeld<Task>; readonly resolve: () => void }[] = [];

  constructor(private readonly running: () => Iterable<Task>) {}

  wait(isHeld: IsHeld<Task> = () => true): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push({ isHeld, resolve });
      this.check();
    });
  }

  /** Called when a task has ended. */
  check(): void {
    if (this.#waiting.length === 0) return;
    const running = [...this.running()];
    this.#waiting = this.#waiting.filter(({ isHeld, resolve }) => {
      if (running.some(isHeld)) return true;
      resolve();
      return false;
    });
  }
}
