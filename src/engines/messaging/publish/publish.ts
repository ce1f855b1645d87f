import { isPlainObject, show } from "../../../kit/options.js";
import type { Span, Tracer } from "../../../kit/tracer.js";
import { ValueError } from "../../../kit/value-error.js";
import type { Broker, OutgoingRecord } from "../broker.js";
import type { MessagingError } from "../errors.js";
import type { Topic } from "../topic.js";
import { publishSpan } from "../trace.js";
import { type BatchEntry, outgoing, type Published } from "./outgoing.js";
import type { Publisher } from "./publisher.js";

/** A broker with the publisher to it. */
export interface PublishTarget {
  readonly broker: Broker;
  readonly publisher: Publisher;
}

/** The observers of publishes. */
export interface PublishObservers {
  readonly tracer: Tracer | null;
  readonly meter: { published(topic: string, error: MessagingError | null): void } | null;
}

/** One message with its options, as the program gave them. */
export interface Entry {
  readonly value: unknown;
  readonly options: unknown;
}

/** Publishes one message; `headers` are those of the framework. Resolves when the broker has it. */
export function publishOne(
  { broker, publisher }: PublishTarget,
  topic: Topic,
  { value, options }: Entry,
  headers: Record<string, string> | null,
  { tracer, meter }: PublishObservers,
): Promise<Published> {
  // The span belongs to the trace of the caller: started before anything is awaited.
  const span = publishSpan(tracer, broker.name, topic.name, 1);
  const refuse = (error: unknown): never => {
    span?.end(error);
    throw error;
  };
  // One promise for each message, not one in each layer.
  const send = (made: OutgoingRecord): Promise<Published> =>
    new Promise((resolve, reject) => {
      let record = headers === null ? made : { ...made, headers: { ...made.headers, ...headers } };
      if (span !== null) record = { ...record, placed: placing(span, 1) };
      const { id } = record;
      span?.set("messaging.message.id", id);
      publisher.send(record, (error) => {
        meter?.published(topic.name, error);
        span?.end(error);
        if (error === null) resolve({ id });
        else reject(error);
      });
    });
  try {
    const made = outgoing(topic, value, options, span);
    // Without a schema nothing has to be waited for.
    return made instanceof Promise ? made.then(send, refuse) : send(made);
  } catch (error) {
    return refuse(error);
  }
}

/** Publishes messages together, in their order. Rejects with the first error. */
export async function publishAll(
  { broker, publisher }: PublishTarget,
  topic: Topic,
  entries: readonly Entry[],
  { tracer, meter }: PublishObservers,
): Promise<Published[]> {
  const span = publishSpan(tracer, broker.name, topic.name, entries.length);
  let records: OutgoingRecord[];
  try {
    const make = ({ value, options }: Entry) => outgoing(topic, value, options, span);
    // Async with a schema: an entry that throws would leave the promises of those before it behind.
    records =
      topic.schema === null
        ? (entries.map(make) as OutgoingRecord[])
        : await Promise.all(entries.map(async (entry) => make(entry)));
  } catch (error) {
    span?.end(error);
    throw error;
  }
  if (records.length === 1) span?.set("messaging.message.id", records[0]!.id);
  const placed = span === null ? null : placing(span, records.length);
  const results = await publisher.publishAll(
    placed === null ? records : records.map((record) => ({ ...record, placed })),
  );
  let failure: MessagingError | null = null;
  for (const error of results) {
    meter?.published(topic.name, error);
    failure ??= error;
  }
  span?.end(failure);
  if (failure !== null) throw failure;
  return records.map(({ id }) => ({ id }));
}

/**
 * Sets the attributes of the place of a message on its span. Of those of several messages, only what all have in common: a
 * partition, and no offset.
 */
function placing(span: Span, count: number): NonNullable<OutgoingRecord["placed"]> {
  let common: Map<string, string | number> | null = null;
  let left = count;
  return (attributes) => {
    const given = Object.entries(attributes);
    common = new Map(common === null ? given : given.filter(([name, value]) => common!.get(name) === value));
    if (--left === 0) for (const [name, value] of common) span.set(name, value);
  };
}

/** The entries of a batch, with the values apart from the options. */
export function readEntries(entries: unknown): Entry[] {
  if (!Array.isArray(entries)) throw new ValueError(`publishBatch() takes a list of entries, not ${show(entries)}`);
  return (entries as readonly BatchEntry<unknown>[]).map((entry) => {
    if (!isPlainObject(entry) || !("value" in entry)) {
      throw new ValueError(`an entry of publishBatch() is { value, key?, headers? }, not ${show(entry)}`);
    }
    const { value, ...options } = entry;
    return { value, options };
  });
}
