import { parentLink } from "../process/parent-link.js";
import { ExchangeError, isFrame, type SupervisorMessage, type WorkerMessage } from "./messages.js";
import { Outbox, type SendFrame } from "./unsent.js";

/** Called with the reply to a request, or with the error in place of it. */
export type Settle = (error: Error | null, value: unknown) => void;

/** A worker's side of one service. */
export interface LinkService {
  /** Handles a message; the result is the reply to a question. It runs before the next message is looked at. */
  hear(data: never): unknown;
  /** Messages have been lost. The service joins again and believes nothing that it was told before. */
  resync(): void;
}

/** The way of a worker to the state that its supervisor keeps for all of them. */
export interface SupervisorLink {
  /** False from the first request without a reply in time until something is heard again. */
  readonly responsive: boolean;
  /** Sends a request. `settle` runs before the next message is looked at, so that the order of messages is kept. */
  request(service: string, data: unknown, settle: Settle, weight?: number): void;
  /** Sends a request, for callers to whom the order does not matter. */
  ask(service: string, data: unknown, weight?: number): Promise<unknown>;
  /** Sends a message without a reply. */
  tell(service: string, data: unknown): void;
  /** Resolves when the supervisor has handled all messages so far. */
  settled(): Promise<void>;
  /** Handles the messages of the supervisor to a service. */
  serve(name: string, service: LinkService): void;
}

interface Pending {
  readonly settle: Settle;
  readonly deadline: number;
}

/** Milliseconds to wait for a reply. Longer than the supervisor waits for the other workers. */
const replyWithin = 5000;
const sweepEvery = 250;

/** The link of this process; null where it is not a worker of ours. */
export function supervisorLink(): SupervisorLink | null {
  if (parentLink?.role !== "worker") return null;
  if (link === null) {
    const made = new Link((frame, done) => {
      if (process.connected) process.send?.(frame, undefined, undefined, done);
      else done();
    });
    process.on("message", (message: unknown) => {
      if (isFrame(message)) made.hear(message.messages);
    });
    link = made;
  }
  return link;
}

let link: Link | null = null;

export class Link implements SupervisorLink {
  readonly #outbox: Outbox<WorkerMessage>;
  readonly #replyWithin: number;
  readonly #pending = new Map<number, Pending>();
  readonly #services = new Map<string, LinkService>();
  #last = 0;
  #timer: NodeJS.Timeout | null = null;
  #responsive = true;
  /** A message without a reply was dropped: the services join again when the supervisor is heard. */
  #dropped = false;

  constructor(send: SendFrame<WorkerMessage>, within: number = replyWithin) {
    this.#outbox = new Outbox(send);
    this.#replyWithin = within;
  }

  get responsive(): boolean {
    return this.#responsive;
  }

  request(service: string, data: unknown, settle: Settle, weight?: number): void {
    const id = ++this.#last;
    if (!this.#outbox.add([id, service, data], weight)) {
      settle(new ExchangeError("too many messages wait for the supervisor"), undefined);
      return;
    }
    this.#pending.set(id, { settle, deadline: performance.now() + this.#replyWithin });
    this.#watch();
  }

  ask(service: string, data: unknown, weight?: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.request(service, data, (error, value) => (error === null ? resolve(value) : reject(error)), weight);
    });
  }

  tell(service: string, data: unknown): void {
    if (!this.#outbox.add([0, service, data])) this.#dropped = true;
  }

  async settled(): Promise<void> {
    await this.ask("", null);
  }

  serve(name: string, service: LinkService): void {
    this.#services.set(name, service);
  }

  hear(messages: readonly SupervisorMessage[]): void {
    this.#responsive = true;
    if (this.#dropped) {
      this.#dropped = false;
      for (const service of this.#services.values()) service.resync();
    }
    for (const [id, second, third] of messages) {
      if (id > 0) this.#settle(id, second as 0 | 1, third);
      else if (second === "") this.#resync();
      else this.#receive(id, second as string, third);
    }
  }

  #settle(id: number, isFine: 0 | 1, value: unknown): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    if (isFine === 1) pending.settle(null, value);
    else pending.settle(new ExchangeError(String(value)), undefined);
  }

  #receive(id: number, service: string, data: unknown): void {
    let answer: unknown;
    try {
      answer = this.#services.get(service)?.hear(data as never);
    } catch {
      // A question without a reply fails in the supervisor. The error must not end this process.
      return;
    }
    if (id < 0) this.#outbox.add([id, answer ?? null]);
  }

  /** The replies that were dropped will never come. */
  #resync(): void {
    this.#fail(() => true, "messages of the supervisor were lost");
    for (const service of this.#services.values()) service.resync();
  }

  #watch(): void {
    this.#timer ??= setTimeout(this.#sweep, Math.min(sweepEvery, this.#replyWithin)).unref();
  }

  readonly #sweep = (): void => {
    // After a loop that was busy, replies that have arrived are read before the next turn.
    setImmediate(() => {
      this.#timer = null;
      const now = performance.now();
      const failed = this.#fail(({ deadline }) => deadline <= now, "the supervisor has not replied in time");
      if (failed > 0) this.#responsive = false;
      // Services send nothing during that time: without a request no reply would come.
      if (!this.#responsive && this.#pending.size === 0) this.request("", null, () => {});
      if (this.#pending.size > 0) this.#watch();
    });
  };

  /** Fails requests, and returns their number. */
  #fail(which: (pending: Pending) => boolean, reason: string): number {
    const failed = [...this.#pending].filter(([, pending]) => which(pending));
    for (const [id, { settle }] of failed) {
      this.#pending.delete(id);
      settle(new ExchangeError(reason), undefined);
    }
    return failed.length;
  }
}
