import { registerHealthCheck } from "../../batteries/health/feature.js";
import { meterOf } from "../../batteries/metrics/feature.js";
import { attachOutbox, databaseOf } from "../../engines/db/feature.js";
import type {
  BatchEntry,
  Published,
  PublishedValue,
  PublishOptions,
} from "../../engines/messaging/publish/outgoing.js";
import { messagingState } from "../../engines/messaging/state.js";
import type { Topic } from "../../engines/messaging/topic.js";
import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import { notStarted } from "../../kit/before-start.js";
import type { EitherSpelling } from "../../kit/names.js";
import { ValueError } from "../../kit/value-error.js";
import type { PostgresInbox } from "./inbox.js";
import type { OutboxFailure, OutboxFilter, OutboxMessage, OutboxStatus } from "./message.js";
import { type OutboxOptions, type OutboxSettings, outboxOptions } from "./options.js";
import type { OutboxEngine } from "./outbox.js";

type AnyTopic = Topic<never, unknown> | string;

/** The messages that are stored with transactions, and their publishing. */
export interface Outbox {
  /** Stores a message with the transaction around the caller; without one, at once. It is published soon after. */
  publish<const T extends AnyTopic>(topic: T, value: PublishedValue<T>, options?: PublishOptions): Promise<Published>;
  /** Stores messages together, in their order. */
  publishBatch<const T extends AnyTopic>(
    topic: T,
    entries: readonly BatchEntry<PublishedValue<T>>[],
  ): Promise<Published[]>;
  /** The backlog, at most a second old. */
  status(): Promise<OutboxStatus>;
  /** Messages that have failed or are stuck, the oldest first. */
  list(filter?: OutboxFilter): Promise<OutboxMessage[]>;
  /** The failures with the number of their messages, most frequent first. */
  failures(): Promise<OutboxFailure[]>;
  /** Tries to publish messages again at once. `{}` stands for all. Resolves to the number. */
  retry(filter: OutboxFilter): Promise<number>;
  /** Deletes messages that cannot be published; those behind them continue. `{}` stands for all. Resolves to the number. */
  discard(filter: OutboxFilter): Promise<number>;
}

export interface OutboxFeature {
  /** Lets transactions publish messages: `tx.publish(topic, value)`. Needs a database and a broker. */
  enableOutbox(options?: EitherSpelling<OutboxOptions> | null): this;
  /** The outbox, once the application has started. */
  readonly outbox: Outbox;
}

declare module "../../engines/db/database.js" {
  interface TransactionMembers {
    /**
     * Stores a message with the transaction. It is published after the commit, at least once and in the order of its key;
     * never if the transaction is rolled back. Needs `app.enableOutbox()`.
     */
    publish<const T extends AnyTopic>(topic: T, value: PublishedValue<T>, options?: PublishOptions): Promise<Published>;
    /** Stores messages with the transaction, in their order. */
    publishBatch<const T extends AnyTopic>(
      topic: T,
      entries: readonly BatchEntry<PublishedValue<T>>[],
    ): Promise<Published[]>;
  }
}

interface State {
  settings: OutboxSettings;
  enabled: boolean;
  engine: OutboxEngine | null;
  inbox: PostgresInbox | null;
}

const stateOf = perHost((): State => ({ settings: outboxOptions.read([]), enabled: false, engine: null, inbox: null }));

export const outboxFeature = feature<OutboxFeature>({
  name: "outbox",
  setup: {
    enableOutbox(host, options) {
      const state = stateOf(host);
      state.settings = outboxOptions.read([options]);
      state.enabled = true;
    },
  },
  values: { outbox: (host) => faceOf(host) },
  async prepare(host) {
    const state = stateOf(host);
    const { messaging, definitions } = messagingState(host);
    if (messaging === null) {
      if (state.enabled) {
        throw new ValueError("enableOutbox() needs a broker: enableMemoryBroker(), enableAmqp() or another");
      }
      return;
    }
    const { PostgresInbox } = await import("./inbox.js");
    messagingState(host).inbox = () =>
      (state.inbox ??= new PostgresInbox(databaseOf(host, "the option 'inbox'"), state.settings, host.logger));
    // A missing database is an error at the start, before the first message.
    if (definitions.some(({ options }) => options.inbox === true)) databaseOf(host, "the option 'inbox'");
    const operations = await import("./operations.js");
    if (!state.enabled) return operations.addPanels(host, messaging, null);
    const db = databaseOf(host, "enableOutbox()");
    const { OutboxEngine } = await import("./outbox.js");
    const engine = new OutboxEngine(db, messaging, state.settings, host.logger);
    state.engine = engine;
    operations.addPanels(host, messaging, engine);
    registerHealthCheck(host, "outbox", () => operations.outboxHealth(engine), { critical: false });
    const meter = meterOf(host);
    if (meter !== null) operations.measureOutbox(meter, engine);
  },
  async open(host) {
    const { engine } = stateOf(host);
    if (engine === null) return;
    attachOutbox(host, engine);
    await engine.open();
  },
  ready: (host) => stateOf(host).engine?.start(),
  drain: (host) => stateOf(host).engine?.drain(),
  async close(host) {
    const { engine, inbox } = stateOf(host);
    inbox?.close();
    await engine?.close();
  },
});

/** The outbox of an application; null where it is not enabled. */
export function outboxOf(host: Host): OutboxEngine | null {
  return stateOf(host).engine;
}

function faceOf(host: Host): Outbox {
  const { engine, enabled } = stateOf(host);
  if (engine === null) {
    throw new Error(enabled ? notStarted("app.outbox") : "app.outbox needs app.enableOutbox()");
  }
  const { admin } = engine;
  return {
    publish: (topic, value, options) => engine.publish(topic, value, options, engine.db.current),
    publishBatch: (topic, entries) => engine.publishBatch(topic, entries, engine.db.current),
    status: () => admin.status(),
    list: (filter) => admin.list(filter),
    failures: () => admin.failures(),
    retry: (filter) => admin.retry(filter),
    discard: (filter) => admin.discard(filter),
  };
}
