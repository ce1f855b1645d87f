import { MemoryBroker, MemoryHub } from "stoa/messaging";
import { testBroker, testBrokerFaults } from "stoa/testing/broker";
import { describe, it } from "vitest";

const hub = new MemoryHub();
const broker = { name: "the memory broker", connect: () => new MemoryBroker({ hub }) };

testBroker({ ...broker, abilities: ["broadcast", "delay", "seek", "transactions"] }, { describe, it });
testBrokerFaults({ ...broker, stop: async () => hub.stop(), start: async () => hub.start() }, { describe, it });
