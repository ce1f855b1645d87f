import type { Broker, OutgoingRecord } from "../broker.js";
import { asMessagingError, MessagingError } from "../errors.js";

/** Bounds of the publishes that wait for the broker. */
export interface PublisherLimits {
  /** Milliseconds until a publish that is not confirmed rejects. Default 30000. */
  readonly timeout?: number;
  /** The most messages that wait. Default 10000. */
  readonly maxWaiting?: number;
  /** The most bytes that wait. Default 64 MiB. */
  readonly maxWaitingBytes?: number;
}

interface Waiting {
  readonly record: OutgoingRecord;
  readonly deadline: number;
  readonly resolve: () => void;
  readonly reject: (error: MessagingError) => void;
  settled: boolean;
}

const largestBatch = 1000;
const largestBatchBytes = 4 * 1024 * 1024;
const firstPause = 50;
const longestPause = 2000;

/**
 * Sends records in batches: everything that is published in one turn of the event loop, or while the last batch is under
 * way, goes out together, and each caller gets its own result. One batch is under way at a time, so records keep the order
 * in which they were published. While the broker is away, records are held and sent again, up to the limits.
 */
export class Publisher {
  readonly #broker: Broker;
  readonly #timeout: number;
  readonly #maxWaiting: number;
  readonly #maxWaitingBytes: number;
  #queue: Waiting[] = [];
  #underWay: Waiting[] = [];
  #bytes = 0;
  #sending: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #wake: (() => void) | null = null;
  #closed = false;

  constructor(broker: Broker, limits: PublisherLimits = {}) {
    this.#broker = broker;
    this.#timeout = limits.timeout ?? 30_000;
    this.#maxWaiting = limits.maxWaiting ?? 10_000;
    this.#maxWaitingBytes = limits.maxWaitingBytes ?? 64 * 1024 * 1024;
  }

  /** Messages that are not confirmed yet. */
  get waiting(): number {
    return this.#queue.length + this.#underWay.length;
  }

  /** Resolves when the broker has the record. */
  publish(record: OutgoingRecord): Promise<void> {
    const refused = this.#refusal(record);
    if (refused !== null) return Promise.reject(refused);
    return new Promise((resolve, reject) => {
      this.#queue.push({ record, deadline: performance.now() + this.#timeout, resolve, reject, settled: false });
      this.#bytes += sizeOf(record);
      this.#sending ??= this.#send();
    });
  }

  /** Waits for everything that is under way, at most until its time is up, and takes nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    while (this.#sending !== null) await this.#sending;
  }

  /** Rejects everything that waits, at once. */
  abandon(): void {
    this.#closed = true;
    const error = new MessagingError("CLOSED", "the broker was closed before it confirmed the message");
    for (const entry of [...this.#underWay, ...this.#queue]) this.#settle(entry, error);
    this.#wake?.();
  }

  #refusal(record: OutgoingRecord): MessagingError | null {
    const { name, abilities } = this.#broker;
    if (this.#closed) return new MessagingError("CLOSED", `the ${name} broker has been closed`);
    const size = sizeOf(record);
    const tooLarge = largeness(record, size, this.#broker);
    if (tooLarge !== null) return tooLarge;
    if (record.delay > abilities.delay) {
      const most = abilities.delay === 0 ? "cannot delay messages" : `delays by at most ${abilities.delay / 1000} s`;
      return new MessagingError("UNSUPPORTED", `the ${name} broker ${most}`);
    }
    if (this.waiting >= this.#maxWaiting || this.#bytes + size > this.#maxWaitingBytes) {
      return new MessagingError("BUSY", `${this.waiting} messages wait for the ${name} broker already`);
    }
    return null;
  }

  async #send(): Promise<void> {
    let pause = firstPause;
    // One turn, in which others can join.
    await new Promise((resolve) => setImmediate(resolve));
    this.#watchDeadlines();
    while (this.#queue.length > 0) {
      this.#underWay = this.#takeBatch();
      const held = await this.#sendBatch(this.#underWay);
      this.#underWay = [];
      this.#queue.unshift(...held);
      if (held.length === 0) {
        pause = firstPause;
        continue;
      }
      await this.#pause(pause);
      pause = Math.min(pause * 2, longestPause);
    }
    clearTimeout(this.#timer);
    // In the same turn as the last look at the queue: a publish after this begins anew.
    this.#sending = null;
  }

  #takeBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#queue.length && count < largestBatch) {
      bytes += sizeOf(this.#queue[count]!.record);
      if (count > 0 && bytes > largestBatchBytes) break;
      count++;
    }
    return this.#queue.splice(0, count).filter((entry) => !entry.settled);
  }

  /** Returns the entries to send again. */
  async #sendBatch(batch: readonly Waiting[]): Promise<Waiting[]> {
    if (batch.length === 0) return [];
    let outcomes: readonly (MessagingError | null)[];
    try {
      outcomes = await this.#broker.publish(batch.map(({ record }) => record));
    } catch (error) {
      const failure = asMessagingError(error);
      outcomes = batch.map(() => failure);
    }
    return batch.filter((entry, index) => {
      const error = outcomes[index] ?? null;
      if (entry.settled) return false;
      if (error?.transient && performance.now() < entry.deadline && !this.#closed) return true;
      this.#settle(entry, error);
      return false;
    });
  }

  #settle(entry: Waiting, error: MessagingError | null): void {
    if (entry.settled) return;
    entry.settled = true;
    this.#bytes -= sizeOf(entry.record);
    if (error === null) entry.resolve();
    else entry.reject(error);
  }

  /** Rejects what has waited too long, also while a broker neither confirms nor refuses. */
  #watchDeadlines(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        const now = performance.now();
        for (const entry of [...this.#underWay, ...this.#queue]) {
          if (entry.deadline > now) continue;
          const text = `the ${this.#broker.name} broker did not confirm the message for '${entry.record.topic}' in time`;
          this.#settle(entry, new MessagingError("TIMEOUT", text));
        }
        this.#queue = this.#queue.filter((entry) => !entry.settled);
        this.#watchDeadlines();
      },
      Math.min(1000, Math.max(10, this.#timeout / 4)),
    );
    this.#timer.unref();
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds / 2 + (Math.random() * milliseconds) / 2);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Throws for a message that the broker would not take. */
export function refuseTooLarge(record: OutgoingRecord, broker: Broker): void {
  const tooLarge = largeness(record, sizeOf(record), broker);
  if (tooLarge !== null) throw tooLarge;
}

function largeness({ topic }: OutgoingRecord, size: number, { name, abilities }: Broker): MessagingError | null {
  if (size <= abilities.maxBytes) return null;
  const text = `the message for '${topic}' has ${size} bytes; the ${name} broker takes ${abilities.maxBytes}`;
  return new MessagingError("TOO_LARGE", text);
}

/** The bytes of a record with its headers, as limits count them. */
export function sizeOf({ body, headers, key }: OutgoingRecord): number {
  let size = body.length + (key === null ? 0 : Buffer.byteLength(key));
  for (const [name, value] of Object.entries(headers)) size += name.length + Buffer.byteLength(value);
  return size;
}
