import { type OptionsOf, option, options } from "../../kit/config.js";
import type { Logger } from "../../kit/logger.js";
import { is } from "../../kit/options.js";
import { createLogger } from "../../logging/create-logger.js";
import type { Broker } from "./broker.js";
import { MemoryProcessedStore, type ProcessedStore } from "./consume/processed.js";
import { Messaging } from "./messaging.js";
import { limitFields } from "./publish/waiting.js";

const openOptions = options("openMessaging()", {
  /** Default: the log of the framework, to the standard output. */
  logger: option<Logger>(is.object),
  /** The store of message ids for consumers that are idempotent. Default: the memory of the process. */
  processed: option<ProcessedStore>(is.object),
  ...limitFields,
});

export interface OpenMessagingOptions extends OptionsOf<typeof openOptions.fields> {}

/** Connects to a broker without an application: for scripts and tests. */
export async function openMessaging(broker: Broker, given?: OpenMessagingOptions): Promise<Messaging> {
  const { logger = createLogger(), processed = new MemoryProcessedStore(), ...limits } = openOptions.read([given]);
  const messaging = new Messaging({ logger, home: null, processed: () => processed, limits });
  messaging.add(broker);
  await broker.open();
  return messaging;
}
