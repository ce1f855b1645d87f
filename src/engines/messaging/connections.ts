import { didYouMean } from "../../kit/suggest.js";
import { ValueError } from "../../kit/value-error.js";
import type { Broker, BrokerName } from "./broker.js";
import type { Publisher } from "./publish/publisher.js";
import type { Requests } from "./requests.js";

/** A broker with the parts of the client that use it. */
export interface Connected {
  readonly broker: Broker;
  readonly publisher: Publisher;
  readonly requests: Requests;
}

/** The brokers of one client. */
export class Connections {
  readonly #all = new Map<BrokerName, Connected>();
  /** The only one; null if there are none or several. */
  #only: Connected | null = null;

  add(connected: Connected): void {
    const { name } = connected.broker;
    if (this.#all.has(name)) throw new ValueError(`the client has a broker of the name ${name} already`);
    this.#all.set(name, connected);
    this.#only = this.#all.size === 1 ? connected : null;
  }

  get names(): readonly BrokerName[] {
    return [...this.#all.keys()];
  }

  values(): Iterable<Connected> {
    return this.#all.values();
  }

  get(name: BrokerName): Connected | undefined {
    return this.#all.get(name);
  }

  /** The broker of a topic; throws if there is none, or if the topic has to name one. */
  of(name: BrokerName | null, topic: string): Connected {
    const found = name === null ? this.#only : this.#all.get(name);
    if (found) return found;
    const names = this.names;
    if (name !== null) {
      const near = didYouMean(name, names);
      throw new ValueError(`the topic '${topic}' belongs to ${name}, which is not enabled${near}`);
    }
    const why = names.length === 0 ? "no broker is enabled" : `say which of ${names.join(", ")} it belongs to`;
    throw new ValueError(`the topic '${topic}' has no broker: ${why}`);
  }
}
