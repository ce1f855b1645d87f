import { registerHealthCheck } from "../../batteries/health/feature.js";
import { meterOf } from "../../batteries/metrics/feature.js";
import { feature } from "../../feature/feature.js";
import { type Host, isStarted } from "../../feature/host.js";
import { deferredClient, notStarted } from "../../kit/before-start.js";
import { decorating } from "../../kit/decorating.js";
import { ValueError } from "../../kit/value-error.js";
import type { OnlyKnown } from "../../routing/handler.js";
import type { Decorator } from "../../routing/router.js";
import type { Subscription } from "./consume/consumer.js";
import type { AnyMessageHandler } from "./consume/handler.js";
import { messageOf } from "./consume/message-request.js";
import { type ConsumerOptions, type MessageHandler, readConsumerOptions } from "./consume/options.js";
import type { DeadLetters } from "./dead-letters.js";
import type { Message } from "./message.js";
import type { Messaging } from "./messaging.js";
import type { BatchEntry, Published, PublishedValue, PublishOptions } from "./publish/outgoing.js";
import { measureMessaging, messagingState } from "./state.js";
import { asConsumed, type Topic } from "./topic.js";

type AnyTopic = Topic<never, unknown> | string;
/** The topic of a handler, or the pattern of the names of its topics. */
type Consumed = AnyTopic | RegExp;

export interface MessagingFeature {
  /**
   * Handles the messages of a topic, or of all topics whose names match a pattern, from the start of the application to its
   * end. A handler that returns has handled its message; one that throws gets it again later.
   */
  onMessage<const T extends Consumed>(topic: T, handler: MessageHandler<T, Record<never, never>>): this;
  onMessage<const T extends Consumed, const O extends ConsumerOptions>(
    topic: T,
    options: O & OnlyKnown<O, ConsumerOptions>,
    handler: MessageHandler<T, O>,
  ): this;
  /** Without a handler: a decorator of a function, or of a method, which is registered when its class is instantiated. */
  onMessage<const T extends Consumed, const O extends ConsumerOptions = Record<never, never>>(
    topic: T,
    // `apply`: a handler that does not fit the topic must not be taken for options.
    options?: O & OnlyKnown<O, ConsumerOptions> & { readonly apply?: never },
  ): Decorator<MessageHandler<T, O>>;
  /** Publishes a message. Resolves when the broker has it. */
  publish<const T extends AnyTopic>(topic: T, value: PublishedValue<T>, options?: PublishOptions): Promise<Published>;
  /** Publishes messages together, in their order. */
  publishBatch<const T extends AnyTopic>(
    topic: T,
    entries: readonly BatchEntry<PublishedValue<T>>[],
  ): Promise<Published[]>;
  /** Starts a consumer while the application runs; `onMessage` declares one before. */
  subscribe<const T extends Consumed, const O extends ConsumerOptions>(
    topic: T,
    options: O & OnlyKnown<O, ConsumerOptions>,
    handler: MessageHandler<T, O>,
  ): Promise<Subscription>;
  /** The client of all brokers, once the application has started. */
  readonly messaging: Messaging;
  /** Messages that could not be handled: to look at, to send back, to discard. */
  readonly deadLetters: DeadLetters;
}

declare module "../../http/request.js" {
  interface RequestMembers {
    /** The client of all brokers. */
    readonly messaging: Messaging;
    /** In guards and dependencies of a message handler: the message. Undefined in those of routes. */
    readonly message: Message | undefined;
  }
}

export const messagingFeature = feature<MessagingFeature>({
  name: "messaging",
  methods: {
    onMessage(this: unknown, host: Host, topic: Consumed, ...rest: readonly unknown[]) {
      const declared = asConsumed(topic);
      const owner = `onMessage('${declared.name}')`;
      host.assertOpen(owner);
      // An argument that is undefined by mistake is no decorator's.
      const direct = rest.length > 1 || typeof rest[0] === "function" || (rest.length === 1 && rest[0] === undefined);
      const [options = {}, handler] = typeof rest[0] === "function" ? [{}, rest[0]] : rest;
      const read = readConsumerOptions(owner, options);
      const { definitions, unmade } = messagingState(host);
      const add = (given: unknown) => {
        if (typeof given !== "function") throw new ValueError(`${owner} needs a handler: a function of the message`);
        host.assertOpen(owner);
        definitions.push({ topic: declared, options: read, handler: given as AnyMessageHandler });
      };
      if (!direct)
        return decorating(add, (name) => unmade.add(`${name}() for messages of '${declared.name}'`)) as never;
      add(handler);
      return this as never;
    },
    publish: (host, topic, value, options) => clientOf(host, "app.publish()").publish(topic, value as never, options),
    publishBatch: (host, topic, entries) => clientOf(host, "app.publishBatch()").publishBatch(topic, entries as never),
    subscribe: (host, topic, options, handler) =>
      clientOf(host, "app.subscribe()").subscribe(topic, options, handler as never),
  },
  values: {
    messaging: (host) =>
      findClient(host, "app.messaging") ?? deferredClient("app.messaging", () => findClient(host, "app.messaging")),
    deadLetters: (host) =>
      messagingState(host).messaging?.deadLetters ??
      deferredClient("app.deadLetters", () => findClient(host, "app.deadLetters")?.deadLetters ?? null),
  },
  requestMembers: {
    messaging: (host) => clientOf(host, "request.messaging"),
    message: (_host, request) => messageOf(request),
  },
  async prepare(host) {
    const { messaging, definitions, unmade } = messagingState(host);
    for (const label of unmade.labels()) {
      host.logger.warn(`${label} is decorated but not registered: create an instance of its class before the start`);
    }
    if (messaging === null) {
      if (definitions.length === 0) return;
      throw new ValueError(
        `onMessage('${definitions[0]!.topic.name}') needs a broker: enableMemoryBroker(), enableAmqp() or another`,
      );
    }
    registerHealthCheck(host, "consumers", () => {
      const down = messaging.consumers.filter(({ connected }) => !connected);
      if (down.length > 0) throw new Error(`not connected: ${down.map(({ topic }) => topic).join(", ")}`);
    });
    const meter = meterOf(host);
    if (meter !== null) await measureMessaging(messaging, meter);
  },
  review(host) {
    const { messaging, definitions } = messagingState(host);
    return messaging === null ? [] : definitions.map(({ topic, options }) => messaging.review(topic, options));
  },
  open(host) {
    const { messaging } = messagingState(host);
    if (messaging !== null) messaging.tracer = host.tracer;
  },
  async ready(host) {
    const { messaging, definitions } = messagingState(host);
    if (messaging === null) return;
    await Promise.all(
      definitions.map(({ topic, options, handler }) =>
        messaging.subscribe(topic.pattern ?? topic, options, handler as never),
      ),
    );
  },
  async drain(host) {
    await messagingState(host).messaging?.drain();
  },
  // A start that fails is closed without a drain.
  async close(host) {
    await messagingState(host).messaging?.drain();
  },
});

function clientOf(host: Host, needs: string): Messaging {
  const client = findClient(host, needs);
  if (client === null) throw new Error(notStarted(needs));
  return client;
}

/** Null before the start. A startup hook finds it, if there is a broker. */
function findClient(host: Host, needs: string): Messaging | null {
  const { messaging, brokers } = messagingState(host);
  if (messaging !== null || host.phase === "new" || (!isStarted(host) && brokers.size > 0)) return messaging;
  throw new Error(`${needs} needs a broker: app.enableMemoryBroker(), app.enableAmqp() or another`);
}
