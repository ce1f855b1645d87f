import { MemoryBroker, MessagingError, type OutgoingRecord } from "stoa/messaging";
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
  delay: 0,
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

/** A broker with a way on which several batches are under way. */
class WayBroker extends ScriptedBroker {
  ways = 0;

  async publishWay() {
    this.ways++;
    return { publish: (records: readonly OutgoingRecord[]) => this.publish(records) };
  }
}

it("A publisher has several batches under way where the broker keeps their order", async () => {
  const broker = new WayBroker();
  const publisher = new Publisher(broker);
  const confirmed = gate();
  broker.reply = async (records) => {
    await confirmed.opened;
    return records.map(() => null);
  };
  const all = [publisher.publish(record("1"))];
  await until(() => broker.batches.length === 1);
  all.push(publisher.publish(record("2")));
  await until(() => broker.batches.length === 2);
  expect(publisher.waiting).toBe(2);
  confirmed.open();
  await Promise.all(all);
  expect(broker.ways).toBe(1);
});

it("When the way breaks, everything that was not confirmed is sent again on the next, in the old order", async () => {
  const broker = new WayBroker();
  const publisher = new Publisher(broker);
  const first = gate();
  const second = gate();
  const gates = [first, second];
  broker.reply = async (records) => {
    const mine = gates.shift();
    await mine?.opened;
    return records.map(() => (mine === undefined ? null : away));
  };
  const all = [publisher.publish(record("1"))];
  await until(() => broker.batches.length === 1);
  all.push(publisher.publish(record("2")));
  await until(() => broker.batches.length === 2);
  // The later batch fails first.
  second.open();
  all.push(publisher.publish(record("3")));
  first.open();
  await Promise.all(all);
  expect(broker.batches).toEqual([["1"], ["2"], ["1", "2", "3"]]);
  expect(broker.ways).toBe(2);
});

it("A publish is rejected when its time is up and the broker has not replied", async () => {
  const broker = new ScriptedBroker();
  broker.reply = () => new Promise(() => {});
  const publisher = new Publisher(broker, { timeout: 40 });
  await expect(publisher.publish(record("1"))).rejects.toMatchObject({ code: "TIMEOUT" });
});

it("The messages and bytes that wait in a publisher are bounded", async () => {
  const broker = new ScriptedBroker();
  broker.reply = () => new Promise(() => {});
  const publisher = new Publisher(broker, { maxWaiting: 2, timeout: 60 });
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
  broker.reply = () => new Promise(() => {});
  const publisher = new Publisher(broker, { timeout: 40 });
  const last = publisher.publish(record("1"));
  last.catch(() => {});
  await until(() => broker.batches.length === 1);
  await publisher.close();
  await expect(last).rejects.toMatchObject({ code: "TIMEOUT" });
});
