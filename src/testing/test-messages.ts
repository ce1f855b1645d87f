import { type App, hostOf } from "../app/app.js";
import { codecOf } from "../engines/messaging/codec.js";
import type { DeadLetter } from "../engines/messaging/dead-letters.js";
import { frameworkHeaders, isTombstone } from "../engines/messaging/headers.js";
import { MemoryBroker } from "../engines/messaging/memory/memory-broker.js";
import { MemoryHub } from "../engines/messaging/memory/memory-hub.js";
import type { DeliverOptions } from "../engines/messaging/messaging.js";
import type { Published, PublishedValue, PublishOptions } from "../engines/messaging/publish/outgoing.js";
import { messagingState } from "../engines/messaging/state.js";
import { asTopic, type Topic } from "../engines/messaging/topic.js";
import { decodeValue } from "../engines/messaging/values.js";
import { ValueError } from "../kit/value-error.js";

type AnyTopic = Topic<never, unknown> | string;

/** A message that was published. */
export interface PublishedMessage {
  readonly id: string;
  readonly topic: string;
  readonly key: string | null;
  readonly value: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** The result of a handler. */
export interface DeliveredResult {
  /** `done`, or `retry`, `requeue`, `reject`, `dead`; behind an inbox also `duplicate` and `busy`. */
  readonly result: "done" | "retry" | "requeue" | "reject" | "dead" | "duplicate" | "busy";
  /** The error of the handler; undefined without one. */
  readonly error: unknown;
}

/** Milliseconds that `idle` waits. */
const patience = 20_000;

/** The messages of an application under test. */
export class TestMessages {
  readonly #app: App;
  readonly #hub: MemoryHub;

  /** @internal */
  constructor(app: App, hub: MemoryHub) {
    this.#app = app;
    this.#hub = hub;
  }

  /** Publishes a message, as another program would; starts the application if it has not been started. */
  async publish<const T extends AnyTopic>(
    topic: T,
    value: PublishedValue<T>,
    options?: PublishOptions,
  ): Promise<Published> {
    await this.#app.start();
    return this.#app.publish(topic, value, options);
  }

  /** The messages that were published to a topic so far, oldest first. */
  published(topic: AnyTopic): PublishedMessage[] {
    const codec = codecOf(asTopic(topic).schema);
    return this.#hub.records(asTopic(topic).name).map(({ id, topic, key, headers, body }) => ({
      id,
      topic,
      key,
      value:
        codec === null || isTombstone({ headers, body })
          ? decodeValue(body, headers[frameworkHeaders.contentType])
          : codec.decode(topic, body),
      headers,
    }));
  }

  /** Has the handler of a topic handle one message, once, without a broker and without further attempts. */
  async deliver(topic: AnyTopic, value: unknown, options: DeliverOptions = {}): Promise<DeliveredResult> {
    await this.#app.start();
    const outcome = await this.#app.messaging.handleOnce(asTopic(topic), value, options);
    return { result: outcome.kind, error: "error" in outcome ? outcome.error : undefined };
  }

  /** Waits until all messages are handled, further attempts included. */
  async idle(): Promise<void> {
    const deadline = Date.now() + patience;
    // A handler that has just ended publishes in the next turn.
    for (let quiet = 0; quiet < 3; ) {
      if (Date.now() > deadline) throw new Error(`messages are still being handled after ${patience / 1000} s`);
      await new Promise((resolve) => setTimeout(resolve, 1));
      quiet = this.isIdle ? quiet + 1 : 0;
    }
  }

  /** @internal True if no message is being handled or published. */
  get isIdle(): boolean {
    return this.#hub.idle && this.#app.messaging.waiting === 0;
  }

  /** The dead letters of a topic. */
  deadLetters(topic: AnyTopic): Promise<DeadLetter[]> {
    return this.#app.deadLetters.list(topic);
  }

  /** Forgets all messages. */
  clear(): void {
    this.#hub.clear();
  }
}

/** Puts brokers in memory in place of those that an application has enabled. Call it before the application starts. */
export function testMessages(app: App): TestMessages {
  const host = hostOf(app);
  if (host.phase !== "new") throw new ValueError("testMessages() comes too late: the application has been started");
  const hub = new MemoryHub();
  messagingState(host).replacement = (name) => new MemoryBroker({ hub, name });
  const messages = new TestMessages(app, hub);
  byApp.set(app, messages);
  return messages;
}

const byApp = new WeakMap<App, TestMessages>();

/** The messages of an application, if a test has called `testMessages()`. */
export function messagesOf(app: App): TestMessages | undefined {
  return byApp.get(app);
}
