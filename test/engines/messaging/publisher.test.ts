import { MemoryBroker, MessagingError, type OutgoingRecord, type PublishWay } from "stoa/messaging";
import { expect, it } from "vitest";
import { Publisher } from "../../../src/engines/messaging/publish/publisher.js";
import { gate, until } from "./harness.js";

type Reply = readonly (MessagingError | null)[];

/** A broker whose replies the test decides. */
class ScriptedBroker extends MemoryBroker {
  readonly batches: string[][] = [];
  reply: (records: readonly OutgoingRecord[]) => Reply | Promise<Reply> = (records) => records.map(() => null);

  override async publish(records: readonly OutgoingRecord[]): Promise<Reply> {
    this.batches.push(records.map(({ id }) => id));
    return this.reply(records);
  }
}

const record = (id: string, body = new Uint8Array(1)): OutgoingRecord => ({
  topic: "t",
  id,
  key: null,
  headers: {},
  body,
  timestamp: 0,
  delayMs: 0,
});
const away = new MessagingError("UNREACHABLE", "away");

it("A publisher sends the messages of one turn together, and those that come meanwhile in the next batch", async () => {
  const broker = new ScriptedBroker();
  const publisher = new Publisher(broker);
  const first = gate();
  broker.reply = async (records) => {
    await first.opened;
    return records.map(() => null);
  };
  const all = ["1", "2", "3"].map((id) => publisher.publish(record(id)));
  await until(() => broker.batches.length === 1);
  all.push(...["4", "5"].map((id) => publisher.publish(record(id))));
  first.open();
  await Promise.all(all);
  expect(broker.batches).toEqual([
    ["1", "2", "3"],
    ["4", "5"],
  ]);
  expect(publisher.waiting).toBe(0);
});

it("Each caller of a publisher gets the result of its own message", async () => {
  const broker = new ScriptedBroker();
  broker.reply = (records) => records.map(({ id }) => (id === "bad" ? new MessagingError("REFUSED", "bad") : null));
  const publisher = new Publisher(broker);
  const results = await Promise.allSettled(["a", "bad", "b"].map((id) => publisher.publish(record(id))));
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});

it("A publisher sends messages that the broker could not take yet again, before later ones", async () => {
  const broker = new ScriptedBroker();
  let times = 0;
  broker.reply = (records) => records.map(() => (++times <= 2 ? away : null));
  const publisher = new Publisher(broker);
  const early = ["1", "2"].map((id) => publisher.publish(record(id)));
  await until(() => broker.batches.length === 1);
  const late = publisher.publish(record("3"));
  await Promise.all([...early, late]);
  expect(broker.batches).toEqual([
    ["1", "2"],
    ["1", "2", "3"],
  ]);
});

it("A batch of a publisher has at most four mebibytes, unless it is one message", async () => {
  const broker = new ScriptedBroker({ maxBytes: 10_000_000 });
  const publisher = new Publisher(broker);
  const sizes = { a: 5_000_000, b: 2_000_000, c: 2_000_000, d: 2_000_000 };
  await Promise.all(Object.entries(sizes).map(([id, size]) => publisher.publish(record(id, new Uint8Array(size)))));
  expect(broker.batches).toEqual([["a"], ["b", "c"], ["d"]]);
});

it("A publisher that is being closed does not hold a message whose broker is away: it is rejected", async () => {
  const broker = new ScriptedBroker();
  const publisher = new Publisher(broker);
  const end = gate();
  broker.reply = async (records) => {
    await end.opened;
    return records.map(() => away);
  };
  const publishing = publisher.publish(record("1")).catch((error: MessagingError) => error.code);
  await until(() => broker.batches.length === 1);
  const closing = publisher.close();
  end.open();
  expect(await publishing).toBe("UNREACHABLE");
  await closing;
  expect(broker.batches).toEqual([["1"]]);
});

/** A broker with a way on which many records are under way. The test ends each of them. */
class WayBroker extends MemoryBroker {
  ways = 0;
  readonly sent: string[] = [];
  readonly ends: ((error: MessagingError | null) => void)[] = [];
  /** Times that a way was asked to end. */
  ended = 0;
  /** True if the way that is open takes no more. */
  broken = false;
  /** True if each message is confirmed at once. */
  confirms = false;

  async publishWay(): Promise<PublishWay> {
    this.ways++;
    this.broken = false;
    return {
      publish: (sent: OutgoingRecord, ended: (error: MessagingError | null) => void) => {
        if (this.broken) return ended(away);
        this.sent.push(sent.id);
        if (this.confirms) ended(null);
        else this.ends.push(ended);
      },
      end: () => void this.ended++,
    };
  }
}

it("On a way that keeps the order, a publisher sends each message at once, and each is confirmed on its own", async () => {
  const broker = new WayBroker();
  const publisher = new Publisher(broker);
  const confirmed: string[] = [];
  const publish = (id: string) => publisher.publish(record(id)).then(() => confirmed.push(id));
  const all = [publish("1")];
  await until(() => broker.sent.length === 1);
  all.push(publish("2"), publish("3"));
  // The way is open now: nothing waits for the next turn.
  expect(broker.sent).toEqual(["1", "2", "3"]);
  expect(publisher.waiting).toBe(3);
  broker.ends[1]!(null);
  await all[1];
  expect(confirmed).toEqual(["2"]);
  for (const place of [0, 2]) broker.ends[place]!(null);
  await Promise.all(all);
  expect(broker.ways).toBe(1);
});

it("When the way breaks, everything that was not confirmed is sent again on the next, in the old order", async () => {
  const broker = new WayBroker();
  const publisher = new Publisher(broker);
  const all = [publisher.publish(record("1"))];
  await until(() => broker.sent.length === 1);
  all.push(publisher.publish(record("2")), publisher.publish(record("3")));
  broker.ends[1]!(null);
  // The last one fails first.
  broker.ends[2]!(away);
  all.push(publisher.publish(record("4")));
  expect(broker.sent).toEqual(["1", "2", "3"]);
  broker.ends[0]!(away);
  await until(() => broker.sent.length === 6);
  expect(broker.sent.slice(3)).toEqual(["1", "3", "4"]);
  for (const end of broker.ends.slice(3)) end(null);
  await Promise.all(all);
  expect(broker.ways).toBe(2);
});

it("A way that fails a message at once, while the queue is being sent, keeps the order too", async () => {
  const broker = new WayBroker();
  const refusing: string[] = [];
  let broken = true;
  broker.publishWay = async () => {
    broker.ways++;
    return {
      publish: ({ id }: OutgoingRecord, ended: (error: MessagingError | null) => void) => {
        if (broken) refusing.push(id);
        else broker.sent.push(id);
        ended(broken ? away : null);
        if (broken) broken = false;
      },
    };
  };
  const publisher = new Publisher(broker);
  await Promise.all(["1", "2", "3"].map((id) => publisher.publish(record(id))));
  expect(refusing).toEqual(["1"]);
  expect(broker.sent).toEqual(["1", "2", "3"]);
});

it("The records that are under way at a time are bounded, and the rest follows in its order", async () => {
  const broker = new WayBroker();
  const publisher = new Publisher(broker);
  const total = 9000;
  const all = Array.from({ length: total }, (_, n) => publisher.publish(record(String(n))));
  await until(() => broker.sent.length === 8000);
  for (const end of broker.ends.slice(0, 8000)) end(null);
  await until(() => broker.sent.length === total);
  for (const end of broker.ends.slice(8000)) end(null);
  await Promise.all(all);
  expect(broker.sent).toEqual(Array.from({ length: total }, (_, n) => String(n)));
});

it("Messages that a way never confirms take no room from later ones once their time is up", async () => {
  const broker = new WayBroker();
  const publisher = new Publisher(broker, { timeout: 1 });
  const silent = Array.from({ length: 8000 }, (_, n) => publisher.publish(record(String(n))));
  const results = await Promise.allSettled(silent);
  expect(results.every(({ status }) => status === "rejected")).toBe(true);
  const next = publisher.publish(record("next"));
  await until(() => broker.sent.at(-1) === "next");
  broker.ends.at(-1)!(null);
  await next;
});

it("What a way never confirms is bounded: such a way is ended, takes no more after a while, and the next messages go on another", async () => {
  const broker = new WayBroker();
  const publisher = new Publisher(broker, { timeout: 0.1 });
  const large = new Uint8Array(1024 * 1024);
  const publishLarge = () =>
    Promise.allSettled(Array.from({ length: 40 }, (_, n) => publisher.publish(record(String(n), large))));
  await publishLarge();
  await until(() => broker.ended > 0);
  // The way does not break: a broker that is out of memory reads nothing.
  while (broker.sent.length < 64) await publishLarge();
  await publishLarge();
  expect(broker.sent.length).toBe(64);
  for (const end of broker.ends.splice(0)) end(away);
  broker.broken = true;
  broker.confirms = true;
  // On a busy machine the time of a message can be up before its turn.
  await until(() =>
    publisher.publish(record("next")).then(
      () => true,
      () => false,
    ),
  );
  expect(broker.ways).toBe(2);
  expect(broker.sent.at(-1)).toBe("next");
});

it("A publish is rejected when its time is up and the broker has not replied", async () => {
  const broker = new ScriptedBroker();
  broker.reply = () => new Promise(() => {});
  const publisher = new Publisher(broker, { timeout: 0.04 });
  await expect(publisher.publish(record("1"))).rejects.toMatchObject({ code: "TIMEOUT" });
});

it("The messages and bytes that wait in a publisher are bounded", async () => {
  const broker = new ScriptedBroker();
  broker.reply = () => new Promise(() => {});
  const publisher = new Publisher(broker, { maxWaiting: 2, timeout: 0.06 });
  const waiting = ["1", "2"].map((id) => publisher.publish(record(id)));
  await expect(publisher.publish(record("3"))).rejects.toMatchObject({ code: "BUSY" });
  await Promise.allSettled(waiting);
  const small = new Publisher(broker, { maxWaitingBytes: 10 });
  await expect(small.publish(record("4", new Uint8Array(11)))).rejects.toMatchObject({ code: "BUSY" });
});

it("A publisher that is closed sends the messages that it has and takes no more", async () => {
  const broker = new ScriptedBroker();
  const publisher = new Publisher(broker);
  const last = publisher.publish(record("1"));
  await publisher.close();
  await last;
  await expect(publisher.publish(record("2"))).rejects.toMatchObject({ code: "CLOSED" });
});

it("A publisher whose broker never replies can be closed, once the time of its messages is up", async () => {
  const broker = new WayBroker();
  const publisher = new Publisher(broker, { timeout: 0.04 });
  const last = publisher.publish(record("1"));
  last.catch(() => {});
  await until(() => broker.sent.length === 1);
  await publisher.close();
  await expect(last).rejects.toMatchObject({ code: "TIMEOUT" });
});
