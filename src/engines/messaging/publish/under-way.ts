import type { Broker, PublishWay } from "../broker.js";
import { asMessagingError, type MessagingError } from "../errors.js";
import type { Waiting } from "./waiting.js";

const largestBatch = 1000;
const largestBatchBytes = 4 * 1024 * 1024;
/** Records and bytes that are under way at a time, where the broker keeps their order. */
const mostRecords = 8000;
const mostBytes = 32 * 1024 * 1024;
/** The factor of these limits for all records in the client of the broker, also those for which no caller waits any more. */
const unconfirmedFactor = 2;

/**
 * The records that were given to the broker. On a way of the broker, each is sent at once and confirmed on its own. Without one,
 * records go in batches, one batch after the other.
 */
export class UnderWay {
  readonly #broker: Broker;
  readonly #entries = new Set<Waiting>();
  /** Called with the outcome of each record. */
  readonly #ended: (entry: Waiting, error: MessagingError | null) => void;
  #bytes = 0;
  /** Records for which no caller waits any more. The client of the broker still has them until the way confirms them or breaks. */
  readonly #forgotten = new Set<Waiting>();
  #forgottenBytes = 0;

  constructor(broker: Broker, ended: (entry: Waiting, error: MessagingError | null) => void) {
    this.#broker = broker;
    this.#ended = ended;
  }

  get size(): number {
    return this.#entries.size;
  }

  get entries(): Iterable<Waiting> {
    return this.#entries;
  }

  /** True if another record may be sent. */
  hasRoom(way: PublishWay | null): boolean {
    if (way === null) return this.#entries.size === 0;
    const { size } = this.#entries;
    return (
      size < mostRecords &&
      this.#bytes < mostBytes &&
      size + this.#forgotten.size < mostRecords * unconfirmedFactor &&
      this.#bytes + this.#forgottenBytes < mostBytes * unconfirmedFactor
    );
  }

  /** True if so much was never confirmed that a new way is better. */
  get isStuck(): boolean {
    return this.#forgotten.size >= mostRecords || this.#forgottenBytes >= mostBytes;
  }

  /** Sends one record on a way that keeps the order. */
  send(way: PublishWay, entry: Waiting): void {
    this.#add(entry);
    way.publish(entry.record, (error) => this.#end(entry, error));
  }

  /** Sends the first records of a queue, and removes them from it. */
  async sendBatch(queue: Waiting[]): Promise<void> {
    const batch = takeBatch(queue);
    for (const entry of batch) this.#add(entry);
    let outcomes: readonly (MessagingError | null)[] | null = null;
    let failure: MessagingError | null = null;
    try {
      outcomes = await this.#broker.publish(batch.map(({ record }) => record));
    } catch (error) {
      failure = asMessagingError(error);
    }
    for (let place = 0; place < batch.length; place++) {
      this.#end(batch[place]!, failure ?? outcomes?.[place] ?? null);
    }
  }

  /** Forgets the records for which no caller waits any more. */
  forgetSettled(): void {
    for (const entry of this.#entries) {
      if (!entry.settled) continue;
      this.#remove(entry);
      this.#forgotten.add(entry);
      this.#forgottenBytes += entry.size;
    }
  }

  #add(entry: Waiting): void {
    this.#entries.add(entry);
    this.#bytes += entry.size;
  }

  #remove(entry: Waiting): void {
    if (this.#entries.delete(entry)) this.#bytes -= entry.size;
  }

  #end(entry: Waiting, error: MessagingError | null): void {
    this.#remove(entry);
    if (this.#forgotten.delete(entry)) this.#forgottenBytes -= entry.size;
    this.#ended(entry, error);
  }
}

function takeBatch(queue: Waiting[]): Waiting[] {
  let bytes = 0;
  let count = 0;
  while (count < queue.length && count < largestBatch) {
    bytes += queue[count]!.size;
    if (count > 0 && bytes > largestBatchBytes) break;
    count++;
  }
  return queue.splice(0, count);
}
