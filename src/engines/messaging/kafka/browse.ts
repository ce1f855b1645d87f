import { randomUUID } from "node:crypto";
import type { BrowseVisitor, IncomingRecord } from "../broker.js";
import { MessagingError } from "../errors.js";
import { groupBy } from "../group-by.js";
import type { KafkaClients } from "./clients.js";
import { Fetcher } from "./fetch/fetcher.js";
import { offsetsAt } from "./group/offsets.js";
import type { KafkaOutgoing } from "./library.js";

/** The place of a dead letter that is done. A log cannot forget single messages: a later one says that it is done. */
const doneHeader = "stoa-dead-done";
/** The most messages that are read. */
const readLimit = 100_000;

/** A record with its place. */
interface Placed {
  readonly record: IncomingRecord;
  readonly partition: number;
  readonly offset: bigint;
}

/** Shows the dead letters of a topic that are not done, oldest first. */
export async function browseDeadLetters(
  clients: KafkaClients,
  topic: string,
  limit: number,
  visit: BrowseVisitor,
  send: (mark: KafkaOutgoing) => Promise<void>,
): Promise<void> {
  const messages = await readAll(clients, topic);
  const done = new Set(messages.map(({ record }) => record.headers[doneHeader]).filter((place) => place !== undefined));
  const open = messages.filter((message) => isOpen(message, done));
  open.sort((a, b) => a.record.timestamp - b.record.timestamp || Number(a.offset - b.offset));
  for (const message of open.slice(0, limit)) {
    if ((await visit(message.record)) !== "remove") continue;
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

/** Everything in a topic, up to its end as it is now. Reads without a group. */
async function readAll(clients: KafkaClients, topic: string): Promise<Placed[]> {
  const consumer = clients.consumer(`stoa-browse-${randomUUID()}`);
  let fetcher: Fetcher | null = null;
  let looking: NodeJS.Timeout | undefined;
  try {
    const first = await offsetsAt(consumer, topic, "start");
    const last = await offsetsAt(consumer, topic, "end");
    const waiting = new Set(last.flatMap((end, partition) => (end > first[partition]! ? [partition] : [])));
    if (waiting.size === 0) return [];
    const messages: Placed[] = [];
    await new Promise<void>((resolve, reject) => {
      const look = () => {
        for (const partition of waiting)
          if (fetcher!.readUpTo(partition) >= last[partition]!) waiting.delete(partition);
        if (waiting.size === 0 || messages.length >= readLimit) resolve();
      };
      fetcher = new Fetcher({
        clients,
        consumer,
        topic,
        starts: new Map([...waiting].map((partition) => [partition, first[partition]!])),
        hasRoom: () => messages.length < readLimit,
        isFull: () => false,
        waitsForAll: () => false,
        isRunning: () => true,
        deliver: (record, partition, offset, unreadable) => {
          if (unreadable === undefined) messages.push({ record, partition, offset });
        },
        outOfRange: () => reject(new MessagingError("LOST", "the dead letters were removed while they were read")),
        failed: reject,
      });
      // The end of a transaction has an offset too, but is no message: that the last one is here does not say that all are.
      looking = setInterval(look, 20);
    });
    return messages.filter(({ partition, offset }) => offset < last[partition]!);
  } finally {
    clearInterval(looking);
    (fetcher as Fetcher | null)?.close();
    await consumer.close(true).catch(() => {});
  }
}

/** Has the broker forget the beginning of each partition that is done. */
async function trim(
  clients: KafkaClients,
  topic: string,
  messages: readonly Placed[],
  done: ReadonlySet<string>,
): Promise<void> {
  const partitions = [...groupBy(messages, ({ partition }) => partition)].flatMap(([partition, list]) => {
    const kept = list.find((message) => isOpen(message, done));
    const offset = kept?.offset ?? list.at(-1)!.offset + 1n;
    return offset > list[0]!.offset ? [{ partition, offset }] : [];
  });
  if (partitions.length === 0) return;
  // Not needed for the result: the next look tries again.
  await clients.admin.deleteRecords({ topics: [{ name: topic, partitions }] }).catch(() => {});
}

function isOpen(message: Placed, done: ReadonlySet<string>): boolean {
  return message.record.headers[doneHeader] === undefined && !done.has(placeOf(message));
}

function placeOf({ partition, offset }: Placed): string {
  return `${partition}:${offset}`;
}
