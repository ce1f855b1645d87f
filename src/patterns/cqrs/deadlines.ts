/** Work that ends at a time. */
export interface Expiring {
  expire(): void;
}

/** The place of work in the line of its duration. */
export interface Deadline {
  /** By the clock of the process that only moves forward. */
  readonly endsAt: number;
  /** Null for the end of the line. */
  readonly work: Expiring | null;
  before: Deadline;
  after: Deadline;
}

/**
 * Deadlines of work that mostly ends long before: a line for each duration, in the order of their ends, and one timer for
 * the line. A timer for each command would cost ten times as much as the rest of the bus, a `Set` as much as a promise.
 */
export class Deadlines {
  /** The ends of the lines. An empty line is its own neighbour. */
  readonly #ends = new Map<number, Deadline>();

  /** Calls `expire` after a time, unless the deadline is removed first. */
  add(work: Expiring, milliseconds: number): Deadline {
    let end = this.#ends.get(milliseconds);
    if (end === undefined) {
      end = newLine();
      this.#ends.set(milliseconds, end);
      this.#arm(end, milliseconds, milliseconds);
    }
    const deadline: Deadline = { endsAt: performance.now() + milliseconds, work, before: end.before, after: end };
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

  #arm(end: Deadline, milliseconds: number, delay: number): void {
    setTimeout(() => {
      const now = performance.now();
      while (end.after !== end) {
        const first = end.after;
        if (first.endsAt > now) {
          this.#arm(end, milliseconds, Math.ceil(first.endsAt - now));
          return;
        }
        this.remove(first);
        first.work?.expire();
      }
      this.#ends.delete(milliseconds);
    }, delay).unref();
  }
}

function newLine(): Deadline {
  const end = { endsAt: Infinity, work: null } as Deadline;
  end.before = end.after = end;
  return end;
}
