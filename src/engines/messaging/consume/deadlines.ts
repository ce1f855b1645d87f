/** A call that may take so long and no longer. It is its own place in the list of calls: no message costs a further object. */
export abstract class TimedCall {
  /** The time on the monotonic clock at which the call is late; 0 while no time is set. */
  due = 0;
  earlier: TimedCall | null = null;
  later: TimedCall | null = null;

  abstract late(): void;
}

/** Watches calls that all may take the same time, with one timer: a timer for each message would cost more than the rest of its way. */
export class Deadlines {
  readonly #timeout: number;
  /** A list in the order in which the calls end. */
  #first: TimedCall | null = null;
  #last: TimedCall | null = null;
  #timer: NodeJS.Timeout | null = null;

  /** @param timeout in milliseconds; 0 for no limit */
  constructor(timeout: number) {
    this.#timeout = timeout;
  }

  get timeout(): number {
    return this.#timeout;
  }

  /** Calls `late` when the time since `start` is up, unless the call is removed before. */
  add(call: TimedCall, start: number): void {
    if (this.#timeout === 0) return;
    call.due = start + this.#timeout;
    call.earlier = this.#last;
    if (this.#last === null) this.#first = call;
    else this.#last.later = call;
    this.#last = call;
    if (this.#timer === null) this.#watch(this.#timeout);
    else if (this.#first === call) this.#timer.ref();
  }

  remove(call: TimedCall): void {
    if (call.due === 0) return;
    const { earlier, later } = call;
    if (earlier === null) this.#first = later;
    else earlier.later = later;
    if (later === null) this.#last = earlier;
    else later.earlier = earlier;
    call.due = 0;
    call.earlier = null;
    call.later = null;
    // Nobody waits for the timer any more: it must not keep the process alive.
    if (this.#first === null) this.#timer?.unref();
  }

  #watch(milliseconds: number): void {
    this.#timer = setTimeout(() => this.#check(), Math.max(1, Math.ceil(milliseconds)));
  }

  #check(): void {
    this.#timer = null;
    const now = performance.now();
    for (let call = this.#first; call !== null; call = this.#first) {
      if (call.due > now) {
        // A call that was late may have begun others, and with them a timer.
        if (this.#timer !== null) clearTimeout(this.#timer);
        this.#watch(call.due - now);
        return;
      }
      this.remove(call);
      call.late();
    }
  }
}
