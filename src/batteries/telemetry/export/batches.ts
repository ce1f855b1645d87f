import { exportBody, type Segment } from "../otlp/envelope.js";
import { Writer } from "../otlp/writer.js";
import { followClock } from "../trace/clock.js";
import type { InstrumentationScope } from "../trace/context.js";

export interface BatchLimits {
  /** Items that wait at most, those on their way included. */
  readonly items: number;
  /** Bytes that wait at most. */
  readonly bytes: number;
  /** Items of one export. */
  readonly batchItems: number;
}

/** Items that are sent together. */
export class Batch {
  readonly writer: Writer;
  readonly #parts: { readonly scope: InstrumentationScope; readonly start: number }[] = [];
  count = 0;
  attempts = 0;

  constructor(size: number) {
    this.writer = new Writer(size);
  }

  get size(): number {
    return this.writer.at;
  }

  /** The items that follow are from this library. */
  from(scope: InstrumentationScope): void {
    if (this.#parts.at(-1)?.scope !== scope) this.#parts.push({ scope, start: this.writer.at });
  }

  body(resource: Uint8Array): Uint8Array[] {
    const { written: bytes } = this.writer;
    const segments = this.#parts.map(({ scope, start }, i): Segment => {
      return { scope, items: bytes.subarray(start, this.#parts[i + 1]?.start ?? bytes.length) };
    });
    return exportBody(resource, segments);
  }
}

/** Batches of one signal on their way to the collector. */
export interface BatchQueue {
  /** Takes the oldest batch that may be sent; null if there is none. It counts until it is `done`. */
  take(): Batch | null;
  /** The batch could not be sent now: it is the next one again. */
  putBack(batch: Batch): void;
  /** The batch was sent or given up. */
  done(batch: Batch): void;
  /** Closes the batch that is being filled. */
  seal(): void;
  /** Drops everything that waits; the number of items. */
  clear(): number;
}

/** A batch is sent before it has as many bytes: collectors limit the size of a request. */
const batchBytes = 1024 * 1024;

/**
 * A bounded line of encoded items. Items are encoded into the batch that is being filled. If the collector cannot be reached, the
 * oldest batch is dropped: what happens now is worth more than what happened before.
 */
export class BoundedBatches implements BatchQueue {
  readonly #limits: BatchLimits;
  readonly #onSealed: () => void;
  readonly #onFirst: () => void;
  readonly #onDropped: (count: number) => void;
  readonly #waiting: Batch[] = [];
  #open: Batch | null = null;
  #items = 0;
  #bytes = 0;
  #usualSize = 32 * 1024;

  /** `onFirst`: the first item of a batch has been added. `onSealed`: a batch is full. */
  constructor(limits: BatchLimits, on: { first(): void; sealed(): void; dropped(count: number): void }) {
    this.#limits = limits;
    this.#onFirst = on.first;
    this.#onSealed = on.sealed;
    this.#onDropped = on.dropped;
  }

  /** Adds one item, which `encode` writes. */
  add<T>(scope: InstrumentationScope, encode: (writer: Writer, item: T) => void, item: T): void {
    const batch = (this.#open ??= this.#begin());
    const before = batch.size;
    batch.from(scope);
    encode(batch.writer, item);
    this.#bytes += batch.size - before;
    this.#items++;
    if (++batch.count >= this.#limits.batchItems || batch.size >= batchBytes) {
      this.seal();
      this.#onSealed();
    }
    if (this.#items > this.#limits.items || this.#bytes > this.#limits.bytes) this.#makeRoom();
  }

  seal(): void {
    if (this.#open === null) return;
    this.#usualSize = Math.min(batchBytes, Math.ceil(this.#open.size * 1.25));
    this.#waiting.push(this.#open);
    this.#open = null;
  }

  take(): Batch | null {
    return this.#waiting.shift() ?? null;
  }

  putBack(batch: Batch): void {
    this.#waiting.unshift(batch);
  }

  done(batch: Batch): void {
    this.#items -= batch.count;
    this.#bytes -= batch.size;
  }

  clear(): number {
    this.seal();
    let count = 0;
    for (const batch of this.#waiting.splice(0)) {
      count += batch.count;
      this.done(batch);
    }
    return count;
  }

  #begin(): Batch {
    followClock();
    this.#onFirst();
    return new Batch(this.#usualSize);
  }

  #makeRoom(): void {
    let dropped = 0;
    while (this.#items > this.#limits.items || this.#bytes > this.#limits.bytes) {
      if (this.#waiting.length === 0) this.seal();
      const oldest = this.#waiting.shift();
      if (oldest === undefined) break;
      this.done(oldest);
      dropped += oldest.count;
    }
    if (dropped > 0) this.#onDropped(dropped);
  }
}

/** Holds the newest state only: cumulative metrics contain everything that older ones said. */
export class LatestBatch implements BatchQueue {
  #batch: Batch | null = null;

  set(batch: Batch): void {
    this.#batch = batch;
  }

  take(): Batch | null {
    const batch = this.#batch;
    this.#batch = null;
    return batch;
  }

  putBack(batch: Batch): void {
    this.#batch ??= batch;
  }

  done(): void {}

  seal(): void {}

  clear(): number {
    return this.take()?.count ?? 0;
  }
}
