import type { OutgoingRecord, PublishWay } from "../broker.js";
import { MessagingError } from "../errors.js";
import { own } from "../headers.js";
import type { AmqpMessage } from "./amqplib.js";
import type { PublishChannel } from "./link.js";
import { propertiesOf } from "./records.js";
import type { Topology } from "./topology.js";

/** The queue from which a channel gets the replies to its own requests. */
export const replyQueue = "amq.rabbitmq.reply-to";

interface Route {
  readonly record: OutgoingRecord;
  readonly exchange: string;
  readonly routingKey: string;
}

export interface AmqpWayParts {
  readonly publishing: PublishChannel;
  readonly topology: Topology;
  readonly mandatory: boolean;
  translate(error: unknown): MessagingError;
  /** Takes replies; null while this process makes no requests. */
  reply(message: AmqpMessage): void;
}

/** Publishes on one channel, which keeps the order of everything sent on it. */
export class AmqpWay implements PublishWay {
  readonly #parts: AmqpWayParts;
  /** Batches whose exchanges are being declared, one after the other; null if there are none. */
  #tail: Promise<unknown> | null = null;

  constructor(parts: AmqpWayParts) {
    this.#parts = parts;
  }

  publish(records: readonly OutgoingRecord[]): Promise<readonly (MessagingError | null)[]> {
    if (this.#tail === null) {
      const routes = this.#known(records);
      if (routes !== null) return this.#send(routes);
    }
    // Those after it wait too: they would overtake.
    const routed = (this.#tail ?? Promise.resolve()).catch(() => {}).then(() => this.#declare(records));
    const sent = routed.then((routes) => ({ outcomes: this.#send(routes) }));
    this.#tail = sent;
    return sent.then(
      ({ outcomes }) => {
        if (this.#tail === sent) this.#tail = null;
        return outcomes;
      },
      (error: unknown) => {
        if (this.#tail === sent) this.#tail = null;
        const failure = this.#parts.translate(error instanceof Undeclared ? error.cause : error);
        if (!(error instanceof Undeclared) || failure.transient) throw failure;
        // The broker has ended the channel, but has nothing against the other topics.
        const text = `the channel ended when '${error.topic}' was refused`;
        return records.map(({ topic }) =>
          topic === error.topic ? failure : new MessagingError("UNREACHABLE", text, { cause: failure }),
        );
      },
    );
  }

  /** The ways of records whose exchanges have all been declared; null if one has not. */
  #known(records: readonly OutgoingRecord[]): Route[] | null {
    const { topology, publishing } = this.#parts;
    const routes: Route[] = [];
    for (const record of records) {
      const exchange = record.direct ? "" : topology.knownExchange(publishing, record.topic, delayOf(record));
      if (exchange === null || (isRequest(record) && !publishing.replies)) return null;
      routes.push(routeOf(record, exchange));
    }
    return routes;
  }

  async #declare(records: readonly OutgoingRecord[]): Promise<Route[]> {
    const { topology, publishing } = this.#parts;
    const routes: Route[] = [];
    for (const record of records) {
      if (isRequest(record) && !publishing.replies) {
        await publishing.channel.consume(replyQueue, (message) => message && this.#parts.reply(message), {
          noAck: true,
        });
        publishing.replies = true;
      }
      try {
        const exchange = record.direct ? "" : await topology.exchangeFor(publishing, record.topic, delayOf(record));
        routes.push(routeOf(record, exchange));
      } catch (error) {
        throw new Undeclared(record.topic, error);
      }
    }
    return routes;
  }

  /** Resolves when the broker has confirmed or refused each message, or the channel is gone. */
  #send(routes: readonly Route[]): Promise<(MessagingError | null)[]> {
    const { publishing, mandatory, translate } = this.#parts;
    const { channel, returned } = publishing;
    return new Promise((resolve) => {
      const outcomes = new Array<MessagingError | null>(routes.length).fill(null);
      let left = routes.length;
      if (left === 0) resolve(outcomes);
      const end = (place: number, outcome: MessagingError | null) => {
        outcomes[place] = outcome;
        if (--left === 0) resolve(outcomes);
      };
      for (let place = 0; place < routes.length; place++) {
        const { record, exchange, routingKey } = routes[place]!;
        const { body, id } = record;
        const content = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
        try {
          const properties = propertiesOf(record);
          properties.mandatory = mandatory;
          channel.publish(exchange, routingKey, content, properties, (error: unknown) => {
            // A message that no queue receives is returned first, and confirmed then.
            const unroutable = returned.size > 0 && returned.delete(id);
            end(place, error ? translate(error) : unroutable ? unroutableError(exchange || routingKey) : null);
          });
        } catch (error) {
          end(place, translate(error));
        }
      }
    });
  }
}

/** The exchange of a topic could not be declared. */
class Undeclared extends Error {
  constructor(
    readonly topic: string,
    cause: unknown,
  ) {
    super("the exchange was not declared", { cause });
  }
}

function routeOf(record: OutgoingRecord, exchange: string): Route {
  return { record, exchange, routingKey: record.direct ? record.topic : (record.key ?? "") };
}

/** Delays of users are exact to the second above ten: each value is a queue. */
function delayOf({ delay }: OutgoingRecord): number {
  return delay > 10_000 ? Math.ceil(delay / 1000) * 1000 : delay;
}

function isRequest({ headers }: OutgoingRecord): boolean {
  return headers[own.replyTo] === replyQueue;
}

function unroutableError(exchange: string): MessagingError {
  return new MessagingError("UNKNOWN_TOPIC", `no queue takes messages of '${exchange}': start a consumer of it first`);
}
