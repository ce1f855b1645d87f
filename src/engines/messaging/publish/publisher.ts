import type { Broker, OutgoingRecord, PublishWay } from "../broker.js";
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
  readonly size: number;
  /** The place in the order of publishes. */
  readonly number: number;
  readonly deadline: number;
  /** Called once: with null when the broker has the record. */
  readonly end: (error: MessagingError | null) => void;
  settled: boolean;
}

const largestBatch = 1000;
const largestBatchBytes = 4 * 1024 * 1024;
/** Batches that are under way at a time, where the broker keeps their order. */
const mostBatches = 8;
const firstPause = 50;
const longestPause = 2000;

/**
 * Sends records in batches: everything that is published in one turn of the event loop, or while the broker has enough to
 * do, goes out together, and each caller gets its own result. Records keep the order in which they were published: several
 * batches are under way at a time only on one way that keeps it, and when it breaks, all that was not confirmed is sent again
 * on the next, in the old order. While the broker is away, records are held and sent again, up to the limits.
 */
export class Publisher {
  readonly #broker: Broker;
  readonly #timeout: number;
  readonly #maxWaiting: number;
  readonly #maxWaitingBytes: number;
  #queue: Waiting[] = [];
  readonly #underWay = new Set<readonly Waiting[]>();
  /** Entries to send again, once nothing is under way. */
  #held: Waiting[] = [];
  #way: PublishWay | null = null;
  #state: "open" | "opening" | "broken" | "pausing" = "open";
  #pause = firstPause;
  #number = 0;
  #waiting = 0;
  #bytes = 0;
  #soon = false;
  #timer: NodeJS.Timeout | undefined;
  #wake: (() => void) | null = null;
  readonly #idle: (() => void)[] = [];
  #closed = false;

  constructor(broker: Broker, limits: PublisherLimits = {}) {
    this.#broker = broker;
    this.#timeout = limits.timeout ?? 30_000;
    this.#maxWaiting = limits.maxWaiting ?? 10_000;
    this.#maxWaitingBytes = limits.maxWaitingBytes ?? 64 * 1024 * 1024;
  }

  /** Messages that are not confirmed yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when the broker has the record. */
  publish(record: OutgoingRecord): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#add(record, performance.now() + this.#timeout, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  /** The result of each record: null when the broker has it. One promise for all of them. */
  publishAll(records: readonly OutgoingRecord[]): Promise<readonly (MessagingError | null)[]> {
    return new Promise((resolve) => {
      const results = new Array<MessagingError | null>(records.length).fill(null);
      let left = records.length;
      if (left === 0) resolve(results);
      const deadline = performance.now() + this.#timeout;
      for (let place = 0; place < records.length; place++) {
        this.#add(records[place]!, deadline, (error) => {
          results[place] = error;
          if (--left === 0) resolve(results);
        });
      }
    });
  }

  #add(record: OutgoingRecord, deadline: number, end: Waiting["end"]): void {
    const size = sizeOf(record);
    const refused = this.#refusal(record, size);
    if (refused !== null) {
      end(refused);
      return;
    }
    this.#queue.push({ record, size, number: this.#number++, deadline, end, settled: false });
    this.#waiting++;
    this.#bytes += size;
    if (this.#timer === undefined) this.#watchDeadlines();
    this.#fillSoon();
  }

  /** Waits for everything that is under way, at most until its time is up, and takes nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#isIdle) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Rejects everything that waits, at once. */
  abandon(): void {
    this.#closed = true;
    const error = new MessagingError("CLOSED", "the broker was closed before it confirmed the message");
    for (const entry of this.#all()) this.#settle(entry, error);
    this.#wake?.();
  }

  #refusal(record: OutgoingRecord, size: number): MessagingError | null {
    const { name, abilities } = this.#broker;
    if (this.#closed) return new MessagingError("CLOSED", `the ${name} broker has been closed`);
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

  get #isIdle(): boolean {
    return this.#queue.length === 0 && this.#held.length === 0 && this.#underWay.size === 0;
  }

  #all(): Waiting[] {
    return [...[...this.#underWay].flat(), ...this.#held, ...this.#queue];
  }

  /** One turn, in which others can join. */
  #fillSoon(): void {
    if (this.#soon) return;
    this.#soon = true;
    setImmediate(() => {
      this.#soon = false;
      this.#fill();
    });
  }

  /** Sends as much as may be under way. */
  #fill(): void {
    if (this.#state !== "open") return;
    if (this.#queue.length === 0) {
      if (this.#underWay.size === 0) this.#rest();
      return;
    }
    if (this.#way === null && this.#broker.publishWay !== undefined) {
      void this.#open();
      return;
    }
    const most = this.#way === null ? 1 : mostBatches;
    while (this.#queue.length > 0 && this.#underWay.size < most) {
      const batch = this.#takeBatch();
      if (batch.length === 0) continue;
      this.#underWay.add(batch);
      void this.#sendBatch(this.#way ?? this.#broker, batch);
    }
  }

  async #open(): Promise<void> {
    this.#state = "opening";
    try {
      this.#way = await this.#broker.publishWay!();
      this.#state = "open";
      this.#fill();
    } catch (error) {
      const failure = asMessagingError(error);
      this.#held = this.#queue.splice(0).filter((entry) => this.#isHeld(entry, failure));
      this.#state = "broken";
      void this.#mend();
    }
  }

  async #sendBatch(way: PublishWay, batch: readonly Waiting[]): Promise<void> {
    let outcomes: readonly (MessagingError | null)[] | null = null;
    let failure: MessagingError | null = null;
    try {
      outcomes = await way.publish(batch.map(({ record }) => record));
    } catch (error) {
      failure = asMessagingError(error);
    }
    const held = batch.filter((entry, index) => this.#isHeld(entry, failure ?? outcomes?.[index] ?? null));
    this.#underWay.delete(batch);
    if (held.length > 0) {
      this.#held.push(...held);
      this.#state = "broken";
    } else if (failure === null && this.#state === "open") this.#pause = firstPause;
    if (this.#state === "broken") void this.#mend();
    else this.#fill();
  }

  /** Settles the entry by its outcome; true if it is to be sent again. */
  #isHeld(entry: Waiting, error: MessagingError | null): boolean {
    if (entry.settled) return false;
    if (error?.transient && performance.now() < entry.deadline && !this.#closed) return true;
    this.#settle(entry, error);
    return false;
  }

  /** Begins anew when nothing is under way any more, after a pause, with the entries in their old order. */
  async #mend(): Promise<void> {
    if (this.#underWay.size > 0 || this.#state === "pausing") return;
    this.#way = null;
    this.#state = "pausing";
    this.#queue = [...this.#held.sort((a, b) => a.number - b.number), ...this.#queue];
    this.#held = [];
    if (this.#queue.length > 0) {
      await this.#sleep(this.#pause);
      this.#pause = Math.min(this.#pause * 2, longestPause);
    }
    this.#state = "open";
    this.#fill();
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #takeBatch(): Waiting[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#queue.length && count < largestBatch) {
      bytes += this.#queue[count]!.size;
      if (count > 0 && bytes > largestBatchBytes) break;
      count++;
    }
    return this.#queue.splice(0, count).filter((entry) => !entry.settled);
  }

  #settle(entry: Waiting, error: MessagingError | null): void {
    if (entry.settled) return;
    entry.settled = true;
    this.#waiting--;
    this.#bytes -= entry.size;
    entry.end(error);
  }

  /** Rejects what has waited too long, also while a broker neither confirms nor refuses. */
  #watchDeadlines(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        const now = performance.now();
        for (const entry of this.#all()) {
          if (entry.deadline > now) continue;
          const text = `the ${this.#broker.name} broker did not confirm the message for '${entry.record.topic}' in time`;
          this.#settle(entry, new MessagingError("TIMEOUT", text));
        }
        this.#queue = this.#queue.filter((entry) => !entry.settled);
        this.#held = this.#held.filter((entry) => !entry.settled);
        if (this.#closed) this.#giveUp();
        this.#watchDeadlines();
        this.#fillSoon();
      },
      Math.min(1000, Math.max(10, this.#timeout / 4)),
    );
    this.#timer.unref();
  }

  /** The end does not wait for batches of which nobody waits for a message any more. */
  #giveUp(): void {
    for (const batch of this.#underWay) if (batch.every(({ settled }) => settled)) this.#underWay.delete(batch);
    if (this.#state === "broken") void this.#mend();
  }

  #sleep(milliseconds: number): Promise<void> {
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
  for (const name in headers) size += name.length + Buffer.byteLength(headers[name]!);
  return size;
}
