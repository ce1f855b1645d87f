import { jsonText } from "../../durable/texts.js";
import type { Messaging } from "../../engines/messaging/messaging.js";
import type { Logger } from "../../kit/logger.js";
import { ValueError } from "../../kit/value-error.js";
import type { EventStore } from "../events/event-store.js";
import type { SagaDefinition } from "./definition.js";
import { longestKey } from "./drive/run-wait.js";
import type { Sagas } from "./sagas.js";
import { messageAddress } from "./wait-storage.js";
import type { Wait } from "./waits.js";

/** The places that messages and events come from; null where the application has none. */
export interface Places {
  readonly messaging: Messaging | null;
  readonly events: EventStore | null;
}

/**
 * Brings messages and events to the sagas that wait for them. Each wait of each saga is a separate consumer group, so two
 * sagas that wait for one topic both get its messages. All versions of a definition share the wait of a name.
 */
export class WaitSources {
  readonly #open = new Map<string, string>();

  constructor(
    readonly sagas: Sagas,
    readonly places: Places,
    readonly logger: Logger,
  ) {}

  async add(definitions: Iterable<SagaDefinition>): Promise<void> {
    for (const definition of definitions) {
      for (const node of definition.nodes) if (node.kind === "wait") await this.#subscribe(definition, node.wait);
    }
  }

  async #subscribe({ name: saga }: SagaDefinition, wait: Wait): Promise<void> {
    const { source } = wait;
    if (source.kind === "signal") return;
    const group = `saga.${saga}.${wait.name}`.replaceAll(" ", "_");
    const from =
      source.kind === "topic" ? `topic ${source.topic.name}` : `event ${source.category ?? ""} ${source.type}`;
    const known = this.#open.get(group);
    if (known === from) return;
    if (known !== undefined) {
      throw new ValueError(
        `the wait '${wait.name}' of the saga '${saga}' has another source in another version: give it another name`,
      );
    }
    this.#open.set(group, from);
    if (source.kind === "topic") {
      const { messaging } = this.places;
      if (messaging === null) {
        throw new ValueError(
          `the wait '${wait.name}' of the saga '${saga}' needs a broker: enableMemoryBroker(), enableAmqp() or another`,
        );
      }
      const options = { group, ...(source.schema && { schema: source.schema }) };
      await messaging.subscribe(source.topic, options, (message: ReceivedMessage) =>
        this.#deliver(saga, wait, message, message.id, message.key, message.value),
      );
      return;
    }
    const { events } = this.places;
    if (events === null)
      throw new ValueError(`the wait '${wait.name}' of the saga '${saga}' needs app.enableEventSourcing()`);
    const { category, type } = source;
    // Events before the first deployment concern no execution.
    const options = { name: group, types: [type], start: "end" as const, ...(category && { categories: [category] }) };
    events.subscribe(options, (event) => this.#deliver(saga, wait, event, event.id, event.stream, event.data));
  }

  async #deliver(
    saga: string,
    wait: Wait,
    message: unknown,
    sourceId: string,
    defaultKey: string | null,
    given: unknown,
  ): Promise<void> {
    const key = wait.keyOf === undefined ? defaultKey : wait.keyOf(message as never);
    if (typeof key !== "string" || key === "" || key.length > longestKey || key.includes("\0")) {
      this.logger.debug("a message without a usable key is for no saga", { saga, wait: wait.name, id: sourceId });
      return;
    }
    const value = jsonText(given, `the value of the message ${sourceId}`);
    const { waits, db } = this.sagas;
    if (await waits.deliver({ address: messageAddress(saga, wait.name, key), value, sourceId }, db)) this.sagas.ring();
  }
}

interface ReceivedMessage {
  readonly id: string;
  readonly key: string | null;
  readonly value: unknown;
}
