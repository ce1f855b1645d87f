import { type OptionsOf, option, options } from "../../kit/config.js";
import { lazily } from "../../kit/on-demand.js";
import type { Broker, IncomingRecord } from "./broker.js";
import { replySuffix } from "./consume/reply.js";
import { MessagingError } from "./errors.js";
import { frameworkHeaders } from "./headers.js";
import { publishFields } from "./publish/outgoing.js";
import type { Topic } from "./topic.js";
import { checkIncoming, decodeValue } from "./values.js";

const requestOptions = options("request()", {
  ...publishFields,
  /** Time to wait for the reply. Default 30 seconds. */
  timeout: option.duration("30s", "1ms", "1d"),
});

/** Options of a request. */
export interface RequestOptions extends OptionsOf<typeof requestOptions.fields> {}

/** The type of the replies to requests of a topic. */
export type ReplyValue<T> = T extends Topic<never, unknown, infer Reply> ? Reply : unknown;

interface Pending {
  readonly topic: Topic;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: NodeJS.Timeout;
}

const mostWaiting = 10_000;

export interface RequestsParts {
  readonly broker: Broker;
  /** Publishes a request with headers of the framework. */
  publish(topic: Topic, value: unknown, options: object, headers: Record<string, string>): Promise<{ id: string }>;
  /** Opens a consumer of replies that each process has for itself. */
  listen(topic: string, receive: (record: IncomingRecord) => void): Promise<void>;
}

/** The requests of this process to one broker that wait for their replies. */
export class Requests {
  readonly #pending = new Map<string, Pending>();
  readonly #open = lazily(() => this.#listen());
  /** Requests without a result, also those that wait until the way back is open. */
  #waiting = 0;
  #closed = false;

  constructor(private readonly parts: RequestsParts) {}

  async request(topic: Topic, value: unknown, given?: RequestOptions): Promise<unknown> {
    const { timeout, ...publish } = requestOptions.read([given], `request('${topic.name}')`);
    this.#assertOpen(topic);
    if (this.#waiting >= mostWaiting) {
      throw new MessagingError("BUSY", `${mostWaiting} requests wait for their replies already`);
    }
    this.#waiting++;
    try {
      return await this.#reply(topic, value, publish, timeout);
    } finally {
      this.#waiting--;
    }
  }

  async #reply(topic: Topic, value: unknown, options: object, seconds: number): Promise<unknown> {
    const started = performance.now();
    const address = await this.#open();
    this.#assertOpen(topic);
    const correlation = crypto.randomUUID();
    const headers = { [frameworkHeaders.replyTo]: address, [frameworkHeaders.correlation]: correlation };
    const left = Math.max(1, seconds * 1000 - (performance.now() - started));
    const reply = new Promise<unknown>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(correlation);
        reject(new MessagingError("TIMEOUT", `no reply to the request to '${topic.name}' within ${seconds} s`));
      }, left);
      this.#pending.set(correlation, { topic, resolve, reject, timer });
    });
    // A publish that fails is the result; one that takes longer than the request is not waited for.
    this.parts.publish(topic, value, options, headers).catch((error) => this.#end(correlation)?.reject(error));
    return reply;
  }

  /** Rejects all requests that wait, and takes no more: no reply would come. */
  close(): void {
    this.#closed = true;
    for (const correlation of [...this.#pending.keys()]) {
      this.#end(correlation)?.reject(new MessagingError("CLOSED", "the application ended before the reply came"));
    }
  }

  #assertOpen({ name }: Topic): void {
    if (!this.#closed) return;
    throw new MessagingError(
      "CLOSED",
      `the request to '${name}' was not sent: the application ends, and takes no replies`,
    );
  }

  async #listen(): Promise<string> {
    const { broker } = this.parts;
    if (broker.replies !== undefined) {
      broker.replies.receive = (record) => this.#receive(record);
      return broker.replies.address;
    }
    if (!broker.abilities.broadcast) {
      throw new MessagingError("UNSUPPORTED", `the ${broker.name} broker has no way back for replies`);
    }
    const topic = `${broker.defaultGroup}${replySuffix}`;
    await this.parts.listen(topic, (record) => this.#receive(record));
    return topic;
  }

  /** A reply that no request waits for is dropped: it came too late, or belongs to another process. */
  #receive({ headers, body }: IncomingRecord): void {
    const pending = this.#end(headers[frameworkHeaders.correlation] ?? "");
    if (pending === undefined) return;
    const { topic, resolve, reject } = pending;
    const failure = headers[frameworkHeaders.replyError];
    if (failure !== undefined) {
      reject(new MessagingError("REFUSED", `the request to '${topic.name}' failed: ${failure}`));
      return;
    }
    try {
      const value = decodeValue(body, headers[frameworkHeaders.contentType]);
      resolve(topic.reply === null ? value : checkIncoming(`${topic.name} (reply)`, topic.reply, value, body));
    } catch (error) {
      reject(error);
    }
  }

  #end(correlation: string): Pending | undefined {
    const pending = this.#pending.get(correlation);
    if (pending === undefined) return undefined;
    this.#pending.delete(correlation);
    clearTimeout(pending.timer);
    return pending;
  }
}
