import type { Broker } from "../broker.js";
import type { MemoryBrokerOptions } from "./memory-broker.js";

// Not in feature.ts: the bundler puts what is loaded there into the file of the batteries, which most applications load.
export async function loadMemoryBroker(options: MemoryBrokerOptions): Promise<Broker> {
  const { MemoryBroker } = await import("./memory-broker.js");
  return new MemoryBroker(options);
}
