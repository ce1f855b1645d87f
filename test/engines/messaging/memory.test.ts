import { MemoryBroker, MemoryHub, openMessaging } from "stoa/messaging";
import { testBroker, testBrokerFaults } from "stoa/testing/broker";
import { describe, expect, it } from "vitest";

const hub = new MemoryHub();
const broker = { name: "the memory broker", connect: () => new MemoryBroker({ hub }) };

testBroker({ ...broker, abilities: ["broadcast", "delay", "seek", "transactions"] }, { describe, it });
testBrokerFaults({ ...broker, stop: async () => hub.stop(), start: async () => hub.start() }, { describe, it });

it("A misspelt option of a memory broker or of openMessaging() is refused", async () => {
  expect(() => new MemoryBroker({ groupID: "a" } as never)).toThrow(
    "unknown option 'groupID' in MemoryBroker; did you mean 'groupId'?",
  );
  await expect(openMessaging(new MemoryBroker(), { maxWating: 1 } as never)).rejects.toThrow(
    "unknown option 'maxWating' in openMessaging(); did you mean 'maxWaiting'?",
  );
});
