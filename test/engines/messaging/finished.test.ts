import {
  type Broker,
  type Delivery,
  type DeliverySink,
  type Message,
  MessagingError,
  openMessaging,
} from "stoa/messaging";
import { expect, it, onTestFinished } from "vitest";
import { Finished } from "../../../src/engines/messaging/consume/finished.js";
import { gate, silent, until } from "./harness.js";

/** A consumer of a broker whose deliveries and failures the test makes. */
async function consuming(handler: (value: unknown, message: Message) => unknown) {
  const sinks: DeliverySink[] = [];
  const nothing = async () => {};
  const broker: Broker = {
    name: "hand",
    abilities: { maxDelayMs: 0, broadcast: false, seek: true, maxBytes: 1000 },
    defaultGroup: "g",
    open: nothing,
    ping: nothing,
    publish: async (records) => records.map(() => null),
    async consume(_request, sink) {
      sinks.push(sink);
      return { pause() {}, resume() {}, stop: nothing, close: nothing, lag: async () => 0, seek: nothing };
    },
    browse: nothing,
    close: nothing,
  };
  const client = await openMessaging(broker, { logger: silent() });
  onTestFinished(() => client.close());
  const subscription = await client.subscribe("t", { maxDeliveries: 3 }, (message) => handler(message.value, message));
  const acked: string[] = [];
  const deliver = (value: string, parts: Partial<Delivery> = {}) => {
    const record = { id: value, key: null, headers: {}, body: Buffer.from(JSON.stringify(value)), timestamp: 1 };
    const ack = () => void acked.push(value);
    sinks.at(-1)!.deliver({ record, earlier: 0, identity: value, ack, release: nothing, ...parts });
  };
  const fail = async () => {
    const before = sinks.length;
    sinks.at(-1)!.failed(new MessagingError("UNREACHABLE", "away"));
    await until(() => sinks.length > before, "it is opened again");
  };
  return { subscription, deliver, fail, acked, sinks };
}

it("A message that finished after its connection was lost is acknowledged when it comes again, and never a dead letter", async () => {
  const handled: unknown[] = [];
  const open = gate();
  const { subscription, deliver, fail, acked } = await consuming(async (value, message) => {
    handled.push(value);
    await open.opened;
    // A handler that looks at its signal may have ended early.
    if (value === "looks" && message.signal.aborted) return;
  });
  deliver("a");
  deliver("looks");
  deliver("nameless", { identity: null });
  await until(() => handled.length === 3);
  await fail();
  open.open();
  await until(() => subscription.stats().results.lost === 3, "all are lost");
  deliver("a", { earlier: 20 });
  deliver("looks");
  deliver("nameless");
  await until(() => acked.length === 3);
  expect(handled).toEqual(["a", "looks", "nameless", "looks", "nameless"]);
  expect(subscription.stats().results).toMatchObject({ done: 2, duplicate: 1, lost: 3, dead: 0 });
  // It was forgotten then: a group whose offsets were moved back handles it again.
  deliver("a");
  await until(() => acked.length === 4);
  expect(handled).toHaveLength(6);
});

it("An acknowledgement that the broker may not have heard of counts, except for another message of the same id", async () => {
  const handled: unknown[] = [];
  const { deliver, fail, acked, sinks } = await consuming((value) => void handled.push(value));
  sinks[0]!.unconfirmed!(["a", "b"]);
  await fail();
  deliver("a");
  deliver("b", { isFirst: true });
  await until(() => acked.length === 2);
  expect(handled).toEqual(["b"]);
});

it("Messages are handled again after a seek, also those that were under way at it", async () => {
  const handled: unknown[] = [];
  const open = gate();
  const { subscription, deliver, acked, sinks } = await consuming(async (value) => {
    handled.push(value);
    await open.opened;
  });
  sinks[0]!.unconfirmed!(["old"]);
  const lost = { ack: () => Promise.reject(new MessagingError("LOST", "moved")) };
  deliver("running", lost);
  await until(() => handled.length === 1);
  await subscription.seek("start");
  open.open();
  await until(() => subscription.stats().results.lost === 1);
  deliver("old");
  deliver("running");
  await until(() => acked.length === 2);
  expect(handled).toEqual(["running", "old", "running"]);
});

it("The newest 10,000 messages are remembered", () => {
  const finished = new Finished();
  for (let number = 0; number < 10_001; number++) finished.add(`${number}`);
  expect([finished.size, finished.take("0"), finished.take("1"), finished.take("1")]).toEqual([
    10_000,
    false,
    true,
    false,
  ]);
});
