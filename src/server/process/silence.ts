/**
 * Notices workers from which nothing was heard for too long. Time is counted in ticks of the caller's own event loop, so
 * that a supervisor that was stopped or blocked itself accuses no worker.
 */
export class Silence<Worker> {
  readonly #ticks = new Map<Worker, number>();
  /** The number of ticks after which a worker counts as silent. */
  readonly #silentAfter: number;
  /** The number of ticks after which a worker counts as stuck. */
  readonly #stuckAfter: number;
  #silent: readonly Worker[] = [];

  constructor(silentAfter: number, stuckAfter: number) {
    this.#silentAfter = silentAfter;
    this.#stuckAfter = stuckAfter;
  }

  get silent(): readonly Worker[] {
    return this.#silent;
  }

  heard(worker: Worker): void {
    this.#ticks.set(worker, 0);
  }

  /** The worker has ended, or must not be watched: a debugger is attached to it. */
  forget(worker: Worker): void {
    this.#ticks.delete(worker);
  }

  /** Counts one tick. Returns the workers that are stuck now; `changed` is true if others are silent than before. */
  tick(): { readonly changed: boolean; readonly stuck: readonly Worker[] } {
    const silent: Worker[] = [];
    const stuck: Worker[] = [];
    for (const [worker, before] of this.#ticks) {
      const ticks = before + 1;
      this.#ticks.set(worker, ticks);
      if (ticks > this.#silentAfter) silent.push(worker);
      if (ticks === this.#stuckAfter) stuck.push(worker);
    }
    const changed = silent.length !== this.#silent.length || silent.some((worker, i) => worker !== this.#silent[i]);
    this.#silent = silent;
    return { changed, stuck };
  }
}
