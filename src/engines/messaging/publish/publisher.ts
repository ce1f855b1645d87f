import { backoff } from "../../../kit/time/backoff.js";
import { milliseconds } from "../../../kit/time/duration.js";
import { sleep } from "../../../kit/time/within.js";
import type { Broker, OutgoingRecord, PublishWay } from "../broker.js";
import { asMessagingError, MessagingError } from "../errors.js";
import { sizeOf, tooLarge } from "./size.js";
import { UnderWay } from "./under-way.js";
import { type PublisherLimits, publisherLimits, type Waiting } from "./waiting.js";

const firstPause = 50;
const longestPause = 2000;

/**
 * Sends records and gives each caller its own result. On a way of the broker each record is sent at once; otherwise everything
 * that is published in one turn of the event loop, or while a batch is under way, goes out together. Records keep the order in
 * which they were published: when a way breaks, all that was not confirmed is sent again on the next, in the old order. While
 * the broker cannot be reached, records are held and sent again, up to the limits.
 */
export class Publisher {
  readonly #broker: Broker;
  readonly #timeout: number;
  readonly #maxWaiting: number;
  readonly #maxWaitingBytes: number;
  readonly #underWay: UnderWay;
  #queue: Waiting[] = [];
  /** Entries to send again, once nothing is under way. */
  #held: Waiting[] = [];
  #way: PublishWay | null = null;
  #state: "open" | "opening" | "broken" | "pausing" = "open";
  #failures = 0;
  #number = 0;
  #waiting = 0;
  #bytes = 0;
  #soon = false;
  #timer: NodeJS.Timeout | undefined;
  readonly #idle: (() => void)[] = [];
  #closed = false;

  constructor(broker: Broker, limits?: PublisherLimits) {
    const { timeout, maxWaiting, maxWaitingBytes } = publisherLimits.read([limits]);
    this.#broker = broker;
    this.#timeout = milliseconds(timeout);
    this.#maxWaiting = maxWaiting;
    this.#maxWaitingBytes = maxWaitingBytes;
    this.#underWay = new UnderWay(broker, (entry, error) => this.#ended(entry, error));
  }

  /** Messages that are not confirmed yet. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when the broker has the record. */
  publish(record: OutgoingRecord): Promise<void> {
    return new Promise((resolve, reject) => {
      this.send(record, (error) => (error === null ? resolve() : reject(error)));
    });
  }

  /** Calls `end` once: with null when the broker has the record. */
  send(record: OutgoingRecord, end: Waiting["end"]): void {
    this.#add(record, performance.now() + this.#timeout, end);
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

  /** Waits for everything that is under way, at most until its time is up, and takes nothing more. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#waiting === 0 && this.#underWay.size === 0) return;
    await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #add(record: OutgoingRecord, deadline: number, end: Waiting["end"]): void {
    const size = sizeOf(record);
    const refused = this.#refusal(record, size);
    if (refused !== null) {
      end(refused);
      return;
    }
    const entry = { record, size, number: this.#number++, deadline, end, settled: false };
    this.#waiting++;
    this.#bytes += size;
    if (this.#timer === undefined) this.#watchDeadlines();
    const way = this.#way;
    // The client of the broker gathers what is sent in one turn itself: nothing would be gained by waiting for others.
    if (way !== null && this.#state === "open" && this.#queue.length === 0 && this.#underWay.hasRoom(way)) {
      this.#underWay.send(way, entry);
      return;
    }
    this.#queue.push(entry);
    this.#fillSoon();
  }

  #refusal(record: OutgoingRecord, size: number): MessagingError | null {
    const { name, abilities } = this.#broker;
    if (this.#closed) return new MessagingError("CLOSED", `the ${name} broker has been closed`);
    const large = record.foreign ? null : tooLarge(record, size, this.#broker);
    if (large !== null) return large;
    if (record.delayMs > abilities.maxDelayMs) {
      const most =
        abilities.maxDelayMs === 0 ? "cannot delay messages" : `delays by at most ${abilities.maxDelayMs / 1000} s`;
      return new MessagingError("UNSUPPORTED", `the ${name} broker ${most}`);
    }
    if (this.#waiting >= this.#maxWaiting || this.#bytes + size > this.#maxWaitingBytes) {
      return new MessagingError("BUSY", `${this.#waiting} messages wait for the ${name} broker already`);
    }
    return null;
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
    const way = this.#way;
    if (way === null && this.#broker.publishWay !== undefined) void this.#open();
    else if (way === null) {
      if (this.#underWay.hasRoom(null)) void this.#underWay.sendBatch(this.#queue);
    } else this.#sendQueue(way);
  }

  /** Sends the queue on a way. If the way breaks, the loop ends and the rest of the queue stays. */
  #sendQueue(way: PublishWay): void {
    const queue = this.#queue;
    let sent = 0;
    while (sent < queue.length && this.#state === "open" && this.#underWay.hasRoom(way)) {
      this.#underWay.send(way, queue[sent++]!);
    }
    queue.splice(0, sent);
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

  #ended(entry: Waiting, error: MessagingError | null): void {
    if (this.#isHeld(entry, error)) {
      this.#held.push(entry);
      this.#state = "broken";
    } else if (error === null && this.#state === "open") this.#failures = 0;
    const over = this.#underWay.size === 0;
    // Not in this call: the loop that sends the queue may be the caller. In the next turn, callers that publish again have joined.
    if (this.#state !== "broken") {
      if (over || this.#queue.length > 0) this.#fillSoon();
    } else if (over) setImmediate(() => void this.#mend());
  }

  /** Settles the entry by its outcome; true if it is to be sent again. */
  #isHeld(entry: Waiting, error: MessagingError | null): boolean {
    if (entry.settled) return false;
    if (error?.transient && performance.now() < entry.deadline && !this.#closed) return true;
    this.#settle(entry, error);
    return false;
  }

  /** Starts over when nothing is under way any more, after a pause, with the entries in their old order. */
  async #mend(): Promise<void> {
    if (this.#underWay.size > 0 || this.#state !== "broken") return;
    this.#way = null;
    this.#state = "pausing";
    this.#queue = [...this.#held.sort((a, b) => a.number - b.number), ...this.#queue];
    this.#held = [];
    if (this.#queue.length > 0) {
      await sleep(backoff(this.#failures++, firstPause, longestPause));
    }
    this.#state = "open";
    this.#fill();
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const resolve of this.#idle.splice(0)) resolve();
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
        for (const entry of [...this.#underWay.entries, ...this.#held, ...this.#queue]) {
          if (entry.deadline > now) continue;
          const text = `the ${this.#broker.name} broker did not confirm the message for '${entry.record.topic}' in time`;
          this.#settle(entry, new MessagingError("TIMEOUT", text));
        }
        this.#queue = this.#queue.filter((entry) => !entry.settled);
        this.#held = this.#held.filter((entry) => !entry.settled);
        if (this.#closed || this.#way !== null) this.#giveUp();
        this.#watchDeadlines();
        this.#fillSoon();
      },
      Math.min(1000, Math.max(10, this.#timeout / 4)),
    );
    this.#timer.unref();
  }

  /**
   * Records for which no caller waits any more neither delay the end nor take the room of others: a queue that confirms nothing
   * must not hold up the messages of other topics on the same way. The client of the broker keeps them all the same: a way with
   * too many of them is ended, and nothing more is sent on it. A broker that is out of memory confirms nothing for hours.
   */
  #giveUp(): void {
    this.#underWay.forgetSettled();
    if (this.#underWay.isStuck) this.#way?.end?.();
    if (this.#state === "broken") void this.#mend();
  }
}
