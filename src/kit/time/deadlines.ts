/** Work with a limit of time. It is itself the list node, so that no further object is allocated for it. */
export abstract class Timed {
  /** @internal */
  declare era: Era;
  /** @internal */
  declare before: Timed;
  /** @internal */
  declare after: Timed;

  // Fields with initial values would cost 25 nanoseconds more for each command.
  constructor() {
    this.era = unbegun;
    this.before = this.after = this;
  }

  abstract expire(): void;
}

/** Work that is a function. */
export class Expiry extends Timed {
  constructor(readonly expire: () => void) {
    super();
  }
}

/**
 * The time between two ticks. Work that begins in it shares its end as the start of its time: to read the clock for each
 * command would cost as much as the call of its handler.
 */
interface Era {
  /** By the monotonic clock; Infinity until the next tick. */
  end: number;
}

const unbegun: Era = { end: Number.POSITIVE_INFINITY };
/** Work waits for the tick that ends its era, and later for the one that finds it: each may be late by a whole tick. */
const ticks = 64;
const longestTick = 500;

/**
 * Deadlines of one duration, for work that mostly ends long before. They end in the order in which they began, so one list
 * and one timer serve all of them: a timer for each command would cost ten times as much as the rest of the bus.
 *
 * Work never expires early. It expires late by up to a thirty-second of its time, and a second at most.
 */
export class Deadlines {
  readonly #keepsAlive: boolean;
  /** The end of the ring. In an empty one it is its own neighbour. */
  readonly #end: Timed = new Expiry(() => {});
  #era: Era = { end: Number.POSITIVE_INFINITY };
  #timer: NodeJS.Timeout | null = null;

  /** Milliseconds; 0 for no limit. With `keepsAlive` the process does not end while work is under way. */
  constructor(
    readonly milliseconds: number,
    { keepsAlive = false }: { readonly keepsAlive?: boolean } = {},
  ) {
    this.#keepsAlive = keepsAlive;
  }

  /** Calls `expire` after the time, unless the work is removed first. */
  add(work: Timed): void {
    if (this.milliseconds === 0) return;
    const end = this.#end;
    if (this.#timer === null) this.#arm();
    else if (this.#keepsAlive && end.after === end) this.#timer.ref();
    work.era = this.#era;
    work.before = end.before;
    work.after = end;
    end.before = end.before.after = work;
  }

  /** Removes work; a second time, nothing happens. */
  remove(work: Timed): void {
    work.before.after = work.after;
    work.after.before = work.before;
    work.before = work.after = work;
    if (this.#keepsAlive && this.#end.after === this.#end) this.#timer?.unref();
  }

  #arm(): void {
    this.#timer = setTimeout(() => this.#tick(), Math.min(this.milliseconds / ticks, longestTick));
    if (!this.#keepsAlive) this.#timer.unref();
  }

  #tick(): void {
    const end = this.#end;
    const now = performance.now();
    this.#timer = null;
    this.#era.end = now;
    this.#era = { end: Number.POSITIVE_INFINITY };
    while (end.after !== end && end.after.era.end + this.milliseconds <= now) {
      const first = end.after;
      this.remove(first);
      first.expire();
    }
    if (end.after !== end && this.#timer === null) this.#arm();
  }
}
