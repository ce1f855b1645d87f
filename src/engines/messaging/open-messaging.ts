import type { Logger } from "../../kit/logger.js";
import { createLogger } from "../../logging/create-logger.js";
import type { Broker } from "./broker.js";
import { MemoryProcessedStore, type ProcessedStore } from "./consume/processed.js";
import { Messaging } from "./messaging.js";
import type { PublisherLimits } from "./publish/waiting.js";

export interface OpenMessagingOptions extends PublisherLimits {
  readonly logger?: Logger;
  /** The store of message ids for consumers that are idempotent. Default: the memory of the process. */
  readonly processed?: ProcessedStore;
}

/** Connects to a broker without an application: for scripts and tests. */
export async function openMessaging(broker: Broker, options: OpenMessagingOptions = {}): Promise<Messaging> {
  const { logger = createLogger(), processed = new MemoryProcessedStore(), ...limits } = options;
  const messaging = new Messaging({ logger, home: null, processed: () => processed, limits });
  messaging.add(broker);
  await broker.open();
  return messaging;
}
