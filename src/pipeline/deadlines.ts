export interface DeadlineEntry {
  readonly expire: () => void;
  readonly due: number;
  previous: DeadlineEntry | null;
  next: DeadlineEntry | null;
}

/**
 * Many deadlines of one duration. They end in the order in which they began, so one list and one timer serve all of
 * them. A timer per request would nearly always be set and cleared in vain.
 */
export class Deadlines {
  readonly #milliseconds: number;
  readonly #resolution: number;
  #first: DeadlineEntry | null = null;
  #last: DeadlineEntry | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(milliseconds: number) {
    this.#milliseconds = milliseconds;
    this.#resolution = Math.max(10, Math.min(500, milliseconds / 10));
  }

  add(expire: () => void): DeadlineEntry {
    const entry = { expire, due: performance.now() + this.#milliseconds, previous: this.#last, next: null };
    if (this.#last) this.#last.next = entry;
    else this.#first = entry;
    this.#last = entry;
    if (!this.#timer) {
      this.#timer = setTimeout(() => this.#sweep(), Math.min(this.#milliseconds, this.#resolution));
      this.#timer.unref();
    }
    return entry;
  }

  remove(entry: DeadlineEntry): void {
    if (entry.previous) entry.previous.next = entry.next;
    else if (this.#first === entry) this.#first = entry.next;
    else return;
    if (entry.next) entry.next.previous = entry.previous;
    else this.#last = entry.previous;
    entry.previous = null;
    entry.next = null;
  }

  #sweep(): void {
    const now = performance.now();
    while (this.#first && this.#first.due <= now) {
      const entry = this.#first;
      this.remove(entry);
      entry.expire();
    }
    if (this.#first) {
      this.#timer = setTimeout(() => this.#sweep(), Math.max(this.#resolution, this.#first.due - now));
      this.#timer.unref();
    } else this.#timer = null;
  }
}
