import type { Broker } from "../broker.js";
import type { AmqpConfig } from "./config.js";

// Not in feature.ts: the bundler puts what is loaded there into the file of the batteries, which most applications load.
export async function loadAmqpBroker(config: AmqpConfig): Promise<Broker> {
  const { createAmqpBroker } = await import("./amqp-broker.js");
  return createAmqpBroker(config);
}
