import { within } from "../../../kit/time/within.js";
import { longestAlone, type Turns } from "../suspects.js";
import type { AmqpChannel, AmqpMessage } from "./amqplib.js";
import type { QueueReader } from "./queue-reader.js";
import { earlierOf, isSuspect } from "./records.js";

/** The consumer of suspects. */
export interface SuspectsOwner {
  readonly channel: AmqpChannel;
  readonly prefetch: number;
  /** Messages that are not delivered yet. */
  readonly waiting: AmqpMessage[];
  /** False during a pause and after the end. */
  readonly isActive: boolean;
  /** Delivers what waits, and takes further messages, unless there is a pause. */
  goOn(): Promise<void>;
  /** Resolves when no message that was delivered is unsettled. */
  idle(): Promise<void>;
  deliverAlone(message: AmqpMessage, earlier: number): void;
  /** Moves a message to a queue. */
  move(message: AmqpMessage, queue: string): Promise<void>;
  fail(error: unknown): void;
}

/** Marked messages in a row that are handled alone: as many times the prefetch, for a few processes that ended together. */
const markedFactor = 10;
/** Milliseconds between looks at the queue of suspects: a process that ended may have left some. */
const lookAgain = 5000;

/** Moves messages that may have killed a process to their queue, and handles those of the queue alone. */
export class AmqpSuspects {
  readonly #queue: string;
  readonly #turns: Turns;
  readonly #reader: QueueReader;
  readonly #owner: SuspectsOwner;
  readonly #suspected = new WeakSet<AmqpMessage>();
  /** Messages in a row that were delivered before. */
  #marked = 0;
  /** Ends when suspects were handled alone; null if there are none. */
  #alone: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;

  constructor(queue: string, turns: Turns, reader: QueueReader, owner: SuspectsOwner) {
    this.#queue = queue;
    this.#turns = turns;
    this.#reader = reader;
    this.#owner = owner;
  }

  /** True while suspects are handled. */
  get isBusy(): boolean {
    return this.#alone !== null;
  }

  has(message: AmqpMessage): boolean {
    return this.#suspected.has(message);
  }

  /**
   * True for a message that may have killed its process. A classic queue marks all its messages after a restart of the broker:
   * a row of marks that is much longer than what processes take over says nothing about a message.
   */
  suspect(message: AmqpMessage): boolean {
    this.#marked = message.fields.redelivered ? this.#marked + 1 : 0;
    if (!isSuspect(message, this.#marked <= this.#owner.prefetch * markedFactor)) return false;
    this.#suspected.add(message);
    return true;
  }

  /** Looks for suspects that other processes have left. */
  async look(): Promise<void> {
    const owner = this.#owner;
    if (this.isBusy || !owner.isActive) return;
    // A queue that was deleted ends the channel, and is declared again with the next one.
    const { messageCount } = await owner.channel.checkQueue(this.#queue).catch(() => ({ messageCount: 0 }));
    if (messageCount > 0 && owner.isActive) this.handle();
  }

  /** Looks for them from time to time. */
  watch(): void {
    this.#timer = setInterval(() => void this.look(), lookAgain).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Handles all suspects; then the others continue. */
  handle(): void {
    this.#alone ??= this.#handle()
      .then(() => {
        this.#alone = null;
        return this.#owner.goOn();
      })
      .catch((error: unknown) => this.#owner.fail(error));
  }

  /**
   * Stops the deliveries, waits for the handlers that run, and handles suspects, one at a time. Handlers that take long are not
   * waited for, and a suspect that takes long is the last one for now: other messages are handled beside it.
   */
  async #handle(): Promise<void> {
    const owner = this.#owner;
    await this.#reader.end();
    await this.#setAside();
    for (let found = true; found && owner.isActive; ) {
      await within(owner.idle(), longestAlone);
      await this.#turns.run(async () => {
        if (!owner.isActive) return;
        const message = await owner.channel.get(this.#queue);
        found = message !== false;
        if (message === false) return;
        this.#suspected.add(message);
        owner.deliverAlone(message, earlierOf(message));
        await within(owner.idle(), longestAlone, () => (found = false));
      });
    }
  }

  /** Moves the suspects that wait to their queue, in their order. If RabbitMQ takes no messages, they are handled with others. */
  async #setAside(): Promise<void> {
    const { waiting } = this.#owner;
    for (const message of waiting.filter((each) => this.has(each))) {
      try {
        await this.#owner.move(message, this.#queue);
      } catch {
        return;
      }
      waiting.splice(waiting.indexOf(message), 1);
    }
  }
}
