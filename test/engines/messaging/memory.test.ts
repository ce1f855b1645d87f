import { MemoryBroker, MemoryHub, type Message, openMessaging } from "stoa/messaging";
import { testBroker, testBrokerFaults } from "stoa/testing/broker";
import { describe, expect, it, vi } from "vitest";

const hub = new MemoryHub();
const broker = { name: "the memory broker", connect: () => new MemoryBroker({ hub }) };

testBroker({ ...broker, abilities: ["broadcast", "delay", "seek", "transactions"] }, { describe, it });
testBrokerFaults({ ...broker, stop: async () => hub.stop(), start: async () => hub.start() }, { describe, it });

it("A misspelt option of a memory broker, of openMessaging() or of a transaction is refused", async () => {
  expect(() => new MemoryBroker({ groupID: "a" } as never)).toThrow(
    "unknown option 'groupID' in MemoryBroker; did you mean 'groupId'?",
  );
  await expect(openMessaging(new MemoryBroker(), { maxWating: 1 } as never)).rejects.toThrow(
    "unknown option 'maxWating' in openMessaging(); did you mean 'maxWaiting'?",
  );
  const client = await openMessaging(new MemoryBroker());
  await expect(client.transaction(() => 1, { brokr: "memory" } as never)).rejects.toThrow("did you mean 'broker'?");
  expect(await client.transaction(() => 1, { broker: "memory" })).toBe(1);
});

it("A misspelt or wrong option of nack() or requeue() is an error in the handler, and the message is handled again", async () => {
  const client = await openMessaging(new MemoryBroker());
  const calls = [
    (message: Message) => message.nack({ resaon: "full" } as never),
    (message: Message) => message.requeue({ dealy: 5 } as never),
    (message: Message) => message.requeue({ delay: Number.NaN }),
    (message: Message) => message.nack({ delay: "soon" as never }),
  ];
  const errors: string[] = [];
  await client.subscribe("orders", { retry: { delay: "1ms", attempts: calls.length + 1 } }, (message) => {
    try {
      calls[message.attempt - 1]?.(message);
    } catch (error) {
      errors.push((error as Error).message);
      throw error;
    }
  });
  await client.publish("orders", 1);
  await vi.waitFor(() => expect(errors).toHaveLength(calls.length));
  expect(errors).toEqual([
    "unknown option 'resaon' in nack(); did you mean 'reason'?",
    "unknown option 'dealy' in requeue(); did you mean 'delay'?",
    expect.stringContaining("option 'delay' in requeue() must be a duration"),
    expect.stringContaining("option 'delay' in nack() must be a duration"),
  ]);
  expect(await client.deadLetters.list("orders")).toEqual([]);
});

it("A request names itself and its options when one is misspelt, and cannot be delayed", async () => {
  const client = await openMessaging(new MemoryBroker());
  await expect(client.request("prices", 1, { timeot: 1 } as never)).rejects.toThrow(
    "unknown option 'timeot' in request('prices'); did you mean 'timeout'?",
  );
  await expect(client.request("prices", 1, { delay: 1 } as never)).rejects.toThrow(
    "unknown option 'delay' in request('prices')",
  );
  await client.subscribe("prices", { retry: false }, ({ value, key, headers }) => [value, key, headers["unit"]]);
  expect(await client.request("prices", 1, { key: "a", headers: { unit: "eur" }, timeout: "20s" })).toEqual([
    1,
    "a",
    "eur",
  ]);
});
