import { expect, it } from "vitest";
import type { AmqpChannel, AmqpMessage } from "../../../src/engines/messaging/amqp/amqplib.js";
import { Unsettled } from "../../../src/engines/messaging/amqp/unsettled.js";
import fc from "../../support/properties.js";
import { until } from "./harness.js";

const messageOf = (deliveryTag: number): AmqpMessage => ({
  content: Buffer.alloc(0),
  fields: { deliveryTag },
  properties: {},
});

/** A channel that knows the deliveries the broker waits for, and refuses like the broker what it does not wait for. */
function opened(prefetch = 1) {
  const waiting = new Set<number>();
  const frames: string[] = [];
  const end = (tag: number, all: boolean) => {
    if (!waiting.has(tag)) throw new Error(`unknown delivery tag ${tag}`);
    for (const each of [...waiting]) if (each === tag || (all && each < tag)) waiting.delete(each);
  };
  const channel = {
    ack({ fields: { deliveryTag } }: AmqpMessage, all = false) {
      frames.push(`ack ${deliveryTag}${all ? " and all before" : ""}`);
      end(deliveryTag, all);
    },
    nack({ fields: { deliveryTag } }: AmqpMessage) {
      frames.push(`nack ${deliveryTag}`);
      end(deliveryTag, false);
    },
  };
  const unsettled = new Unsettled(channel as unknown as AmqpChannel, prefetch);
  const deliver = (tag: number) => {
    const message = messageOf(tag);
    waiting.add(tag);
    unsettled.add(message);
    return message;
  };
  return { unsettled, channel, deliver, waiting, frames };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

it("One frame acknowledges the deliveries of a turn as far as none before them is open, and the others have their own", async () => {
  const { unsettled, deliver, frames, waiting } = opened();
  const [first, second, third, fourth, fifth] = [1, 2, 3, 4, 5].map(deliver);
  for (const message of [third, first, second, fifth]) expect(unsettled.ack(message!)).toBe(true);
  expect(frames).toEqual([]);
  await turn();
  expect(frames).toEqual(["ack 5", "ack 3 and all before"]);
  expect([...waiting]).toEqual([4]);
  expect(unsettled.size).toBe(1);
  unsettled.ack(fourth!);
  await turn();
  expect(frames.at(-1)).toBe("ack 4 and all before");
});

it("A few acknowledgements wait for others, and a quarter of the prefetch goes out with the turn", async () => {
  const { unsettled, deliver, frames } = opened(8);
  const [first, second, third] = [1, 2, 3].map(deliver);
  unsettled.ack(first!);
  await new Promise((resolve) => process.nextTick(resolve));
  expect(frames).toEqual([]);
  unsettled.ack(second!);
  await new Promise((resolve) => process.nextTick(resolve));
  expect(frames).toEqual(["ack 2 and all before"]);
  unsettled.ack(third!);
  await until(() => frames.length === 2);
  expect(frames[1]).toBe("ack 3 and all before");
});

it("A delivery is settled once, whether it is acknowledged or given back", async () => {
  const { unsettled, deliver, frames } = opened();
  const [first, second] = [1, 2].map(deliver);
  expect([unsettled.ack(first!), unsettled.ack(first!), unsettled.release(first!)]).toEqual([true, false, false]);
  expect([unsettled.release(second!), unsettled.ack(second!)]).toEqual([true, false]);
  await turn();
  expect(frames).toEqual(["nack 2", "ack 1 and all before"]);
});

it("At the end of a channel the acknowledgements that wait are sent, and nothing else can be settled", () => {
  const { unsettled, deliver, frames, waiting } = opened();
  const [first, second] = [1, 2].map(deliver);
  unsettled.ack(first!);
  unsettled.end();
  expect(frames).toEqual(["ack 1 and all before"]);
  expect([...waiting]).toEqual([2]);
  expect(unsettled.ack(second!)).toBe(false);
});

it("A channel that has closed meanwhile gets the acknowledgements of the turn for nothing, and nothing is thrown", async () => {
  const { unsettled, deliver, channel } = opened();
  const message = deliver(1);
  let tries = 0;
  channel.ack = () => {
    tries++;
    throw new Error("Channel closed");
  };
  unsettled.ack(message);
  await turn();
  expect(tries).toBe(1);
  expect(unsettled.ack(message)).toBe(false);
});

it("In whatever order deliveries end, the broker is told of all that are settled and of no other", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ what: fc.constantFrom("deliver", "ack", "nack", "turn"), which: fc.nat() }), {
        maxLength: 120,
      }),
      fc.integer({ min: 1, max: 20 }),
      async (steps, prefetch) => {
        const { unsettled, deliver, waiting } = opened(prefetch);
        const open: AmqpMessage[] = [];
        let tag = 0;
        for (const { what, which } of steps) {
          const [chosen] = what === "ack" || what === "nack" ? open.splice(which % (open.length || 1), 1) : [];
          if (what === "deliver") open.push(deliver(++tag));
          else if (what === "turn") await turn();
          else if (chosen !== undefined)
            expect(what === "ack" ? unsettled.ack(chosen) : unsettled.release(chosen)).toBe(true);
          expect(open.every(({ fields }) => waiting.has(fields.deliveryTag))).toBe(true);
        }
        unsettled.end();
        expect([...waiting]).toEqual(open.map(({ fields }) => fields.deliveryTag));
      },
    ),
  );
});
