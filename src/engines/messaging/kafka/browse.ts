import { randomUUID } from "node:crypto";
import type { IncomingRecord } from "../broker.js";
import { groupBy } from "../group-by.js";
import type { KafkaClients } from "./clients.js";
import type { KafkaClientConsumer, KafkaIncoming, KafkaOutgoing } from "./library.js";
import { recordOf } from "./records.js";

/** The place of a dead letter that is done. A log cannot forget single messages: a later one says that it is done. */
const doneHeader = "stoa-dead-done";
/** The most messages that are read. */
const readLimit = 100_000;

/** Shows the dead letters of a topic that are not done, oldest first. */
export async function browseDeadLetters(
  clients: KafkaClients,
  topic: string,
  limit: number,
  visit: (record: IncomingRecord) => Promise<"keep" | "remove">,
  send: (mark: KafkaOutgoing) => Promise<void>,
): Promise<void> {
  const messages = await readAll(clients, topic);
  const done = new Set(messages.map(({ headers }) => headers.get(doneHeader)).filter((place) => place !== undefined));
  const open = messages.filter((message) => !message.headers.has(doneHeader) && !done.has(placeOf(message)));
  open.sort((a, b) => Number(a.timestamp - b.timestamp) || Number(a.offset - b.offset));
  for (const message of open.slice(0, limit)) {
    if ((await visit(recordOf(message))) !== "remove") continue;
    const mark = {
      topic,
      partition: message.partition,
      value: Buffer.alloc(0),
      headers: { [doneHeader]: placeOf(message) },
      timestamp: BigInt(Date.now()),
    };
    await send(mark);
    done.add(placeOf(message));
  }
  await trim(clients, topic, messages, done);
}

/** Everything in a topic, read by a group that is used once and stores no offsets. */
async function readAll(clients: KafkaClients, topic: string): Promise<KafkaIncoming[]> {
  const consumer: KafkaClientConsumer = clients.consumer(`stoa-browse-${randomUUID()}`);
  try {
    const first = (await consumer.listOffsets({ topics: [topic], timestamp: -2n })).get(topic) ?? [];
    const last = (await consumer.listOffsets({ topics: [topic], timestamp: -1n })).get(topic) ?? [];
    const waiting = new Set(last.flatMap((end, partition) => (end > (first[partition] ?? 0n) ? [partition] : [])));
    if (waiting.size === 0) return [];
    const stream = await consumer.consume({ topics: [topic], mode: "earliest", autocommit: false });
    const messages: KafkaIncoming[] = [];
    let looking: NodeJS.Timeout | undefined;
    const all = new Promise<void>((resolve, reject) => {
      stream.on("error", reject);
      // The end of a transaction has an offset too, but is no message.
      looking = setInterval(() => {
        if (stream.readableLength > 0) return;
        for (const partition of waiting) {
          if ((stream.offsetsToFetch.get(`${topic}:${partition}`) ?? 0n) >= last[partition]!) waiting.delete(partition);
        }
        if (waiting.size === 0) resolve();
      }, 100);
      stream.on("data", (message: KafkaIncoming) => {
        messages.push(message);
        if (message.offset + 1n >= last[message.partition]!) waiting.delete(message.partition);
        if (waiting.size === 0 || messages.length >= readLimit) resolve();
      });
    });
    await all.finally(() => clearInterval(looking));
    return messages;
  } finally {
    await consumer.close(true).catch(() => {});
  }
}

/** Has the broker forget the beginning of each partition that is done. */
async function trim(
  clients: KafkaClients,
  topic: string,
  messages: readonly KafkaIncoming[],
  done: ReadonlySet<string>,
): Promise<void> {
  const partitions = [...groupBy(messages, ({ partition }) => partition)].flatMap(([partition, list]) => {
    const kept = list.find((message) => !message.headers.has(doneHeader) && !done.has(placeOf(message)));
    const offset = kept?.offset ?? list.at(-1)!.offset + 1n;
    return offset > list[0]!.offset ? [{ partition, offset }] : [];
  });
  if (partitions.length === 0) return;
  // Not needed for the result: the next look tries again.
  await clients.admin.deleteRecords({ topics: [{ name: topic, partitions }] }).catch(() => {});
}

function placeOf({ partition, offset }: KafkaIncoming): string {
  return `${partition}:${offset}`;
}
