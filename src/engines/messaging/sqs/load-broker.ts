import type { Broker } from "../broker.js";
import type { CloudQueueConfig } from "./config.js";

// Not in feature.ts: the bundler puts what is loaded there into the file of the batteries, which most applications load.
export async function loadSqsBroker(config: CloudQueueConfig): Promise<Broker> {
  const { createSqsBroker } = await import("./sqs-broker.js");
  return createSqsBroker(config);
}
