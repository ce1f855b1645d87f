import { backoff } from "../../../kit/time/backoff.js";
import { within } from "../../../kit/time/within.js";
import { quietFrame, runIn } from "../trace/context.js";
import type { Batch, BatchQueue } from "./batches.js";
import type { Transport } from "./transport.js";

export interface ExporterParts {
  readonly queue: BatchQueue;
  readonly transport: Transport;
  readonly resource: Uint8Array;
  /** Items that are lost, and why. */
  readonly lost: (count: number, reason: string) => void;
  /** An attempt failed and will be repeated. */
  readonly failed?: (reason: string) => void;
  /** The pause before a batch is sent for the n-th time, in milliseconds. */
  readonly pause?: (attempt: number) => number;
}

const maxAttempts = 6;
const maxPause = 30_000;

/** Sends the batches of one signal, one after the other. */
export class Exporter {
  readonly #abort = new AbortController();
  #pump: Promise<void> | null = null;
  /** Ends the pause before the next attempt. */
  #wake: (() => void) | null = null;
  /** Calls of `flush` and `close` that wait. While there are any, a failure is not retried. */
  #hurried = 0;
  #lastFailure = "the time for the last export was over";

  constructor(private readonly parts: ExporterParts) {}

  /** Sends what waits, unless it is being sent already. */
  kick(): void {
    if (this.#abort.signal.aborted) return;
    // Outside of traces: an instrumentation of node:http must not record the export, which would make another export.
    this.#pump ??= runIn(quietFrame, () => this.#run()).finally(() => {
      this.#pump = null;
    });
  }

  /** Sends everything. A collector that does not take a batch now gets no more until later. */
  async flush(): Promise<void> {
    this.#hurried++;
    // Nothing else of the export keeps the process alive: without this a script could end before its last line.
    const alive = setInterval(() => {}, 60_000);
    try {
      this.#wake?.();
      // The run of the moment may have looked for batches before the last one was sealed.
      await this.#pump;
      this.parts.queue.seal();
      this.kick();
      await this.#pump;
    } finally {
      clearInterval(alive);
      this.#hurried--;
    }
  }

  /** Sends everything within the time, then drops the rest. */
  async close(milliseconds: number): Promise<void> {
    await within(this.flush(), milliseconds);
    this.#hurried++;
    this.#abort.abort();
    this.#wake?.();
    await this.#pump;
    const left = this.parts.queue.clear();
    if (left > 0) this.parts.lost(left, this.#lastFailure);
    this.parts.transport.close();
  }

  async #run(): Promise<void> {
    const { queue } = this.parts;
    for (let batch = queue.take(); batch !== null; batch = queue.take()) {
      const pause = await this.#send(batch);
      if (pause === null) continue;
      if (this.#hurried > 0) return;
      await this.#sleep(pause);
    }
  }

  /** Null if the batch is done with, else the pause before the next attempt. */
  async #send(batch: Batch): Promise<number | null> {
    const {
      queue,
      transport,
      resource,
      lost,
      failed,
      pause = (attempt) => backoff(attempt - 1, 1000, maxPause),
    } = this.parts;
    const outcome = await transport.send(batch.body(resource), this.#abort.signal);
    batch.attempts++;
    if (outcome.kind === "later" && batch.attempts < maxAttempts) {
      queue.putBack(batch);
      if (!this.#abort.signal.aborted) this.#lastFailure = outcome.reason;
      if (this.#hurried === 0) failed?.(outcome.reason);
      return Math.max(Math.min(outcome.after ?? 0, 10 * maxPause), pause(batch.attempts));
    }
    queue.done(batch);
    if (outcome.kind !== "sent") lost(batch.count, outcome.reason);
    else if (outcome.rejected > 0) lost(outcome.rejected, outcome.message || "the collector rejected them");
    return null;
  }

  #sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(wake, milliseconds).unref();
      this.#wake = wake;
      const self = this;
      function wake(): void {
        clearTimeout(timer);
        self.#wake = null;
        resolve();
      }
    });
  }
}
