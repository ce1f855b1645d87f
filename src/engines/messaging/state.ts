import type { Meter } from "../../batteries/metrics/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import { UnmadeRoutes } from "../../routing/unmade.js";
import type { Broker, BrokerName } from "./broker.js";
import type { AnyMessageHandler } from "./consume/handler.js";
import type { Inbox } from "./consume/inbox.js";
import type { GivenConsumerOptions } from "./consume/options.js";
import type { Messaging } from "./messaging.js";
import type { ConsumedTopic } from "./topic.js";

/** A consumer that starts with the application. */
export interface ConsumerDefinition {
  readonly topic: ConsumedTopic;
  readonly options: GivenConsumerOptions;
  readonly handler: AnyMessageHandler;
}

interface State {
  /** The declarations of the brokers that are enabled, by their names. */
  readonly brokers: Map<BrokerName, object>;
  readonly definitions: ConsumerDefinition[];
  /** Decorated methods without an instance. */
  readonly unmade: UnmadeRoutes;
  /** Null before the start. */
  messaging: Messaging | null;
  /** Makes a broker in place of a real one, in tests; null elsewhere. */
  replacement: ((name: BrokerName) => Broker) | null;
  /** Gives the inbox to consumers that want one. Set by the outbox in `prepare`. */
  inbox: (() => Inbox) | null;
}

export const messagingState = perHost((): State => {
  const none = { messaging: null, replacement: null, inbox: null };
  return { brokers: new Map(), definitions: [], unmade: new UnmadeRoutes(), ...none };
});

/** The client of an application, made at its start. Its code is loaded then: applications without messages do not need it. */
export async function prepareMessaging(host: Host): Promise<Messaging> {
  const state = messagingState(host);
  if (state.messaging !== null) return state.messaging;
  const [{ Messaging }, { MemoryProcessedStore }] = await Promise.all([
    import("./messaging.js"),
    import("./consume/processed.js"),
  ]);
  const processed = () =>
    host.store("processedMessages", { holds: "ids of handled messages", local: () => new MemoryProcessedStore() });
  const home = { host, container: host.container };
  // Set after this: the outbox is prepared after the brokers.
  const inbox = () => state.inbox!();
  state.messaging = new Messaging({ logger: host.logger, home, processed, inbox });
  return state.messaging;
}

/** Lets the client count its work. */
export async function measureMessaging(messaging: Messaging, meter: Meter): Promise<void> {
  const { messagingMeter } = await import("./metrics.js");
  messaging.meter = messagingMeter(meter, messaging);
}
