import type { Broker } from "../broker.js";
import type { LogBrokerConfig } from "./config.js";

// Not in feature.ts: the bundler puts what is loaded there into the file of the batteries, which most applications load.
export async function loadKafkaBroker(config: LogBrokerConfig): Promise<Broker> {
  const { createKafkaBroker } = await import("./kafka-broker.js");
  return createKafkaBroker(config);
}
