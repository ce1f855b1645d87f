/** Work that ends at a time. */
export interface Expiring {
  expire(): void;
}

/** The place of work in the line of its duration. */
export interface Deadline {
  /** The time in which the work began; null for the end of the line. */
  readonly since: Era | null;
  readonly work: Expiring | null;
  before: Deadline;
  after: Deadline;
}

/**
 * The time between two ticks of a line. Work that begins in it shares it: to read the clock for each command would cost as
 * much as the call of its handler.
 */
interface Era {
  /** By the clock of the process that only moves forward; Infinity until the next tick. */
  end: number;
}

interface Line {
  /** The end of the line. In an empty line it is its own neighbour. */
  readonly end: Deadline;
  now: Era;
}

/** Work waits for the tick that ends its era, and later for the one that finds it: each may be late by a whole tick. */
const ticks = 64;
const longestTick = 500;

/**
 * Deadlines of work that mostly ends long before: a line for each duration, in the order of their ends, and one timer for
 * the line. A timer for each command would cost ten times as much as the rest of the bus, a `Set` as much as a promise.
 *
 * Work never expires early. It expires late by up to a thirty-second of its time, and a second at most.
 */
export class Deadlines {
  readonly #lines = new Map<number, Line>();

  /** Calls `expire` after a time, unless the deadline is removed first. */
  add(work: Expiring, milliseconds: number): Deadline {
    const { end, now } = this.#lines.get(milliseconds) ?? this.#open(milliseconds);
    const deadline: Deadline = { since: now, work, before: end.before, after: end };
    end.before.after = deadline;
    end.before = deadline;
    return deadline;
  }

  /** Removes a deadline; a second time, nothing happens. */
  remove(deadline: Deadline): void {
    deadline.before.after = deadline.after;
    deadline.after.before = deadline.before;
    deadline.before = deadline.after = deadline;
  }

  #open(milliseconds: number): Line {
    const end = { since: null, work: null } as unknown as Deadline;
    end.before = end.after = end;
    const line: Line = { end, now: { end: Number.POSITIVE_INFINITY } };
    this.#lines.set(milliseconds, line);
    this.#arm(line, milliseconds);
    return line;
  }

  #arm(line: Line, milliseconds: number): void {
    setTimeout(() => this.#tick(line, milliseconds), Math.min(milliseconds / ticks, longestTick)).unref();
  }

  #tick(line: Line, milliseconds: number): void {
    const { end } = line;
    const now = performance.now();
    line.now.end = now;
    line.now = { end: Number.POSITIVE_INFINITY };
    while (end.after !== end && end.after.since!.end + milliseconds <= now) {
      const first = end.after;
      this.remove(first);
      first.work!.expire();
    }
    if (end.after === end) this.#lines.delete(milliseconds);
    else this.#arm(line, milliseconds);
  }
}
