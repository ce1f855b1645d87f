import { feature } from "../../../feature/feature.js";
import type { EitherSpelling } from "../../../internal/names.js";
import { type Checks, is, readOptions } from "../../../internal/options.js";
import { brokerEngine } from "../broker-engine.js";
import { loadMemoryBroker } from "./load-broker.js";

export interface MemoryBrokerSettings {
  /** The group of consumers that name none. Default "stoa". */
  readonly groupId?: string;
  /** The largest message in bytes. Default 1 MiB. */
  readonly maxBytes?: number;
}

export interface MemoryBrokerFeature {
  /** Uses a broker in the memory of the process, for development and tests. Messages end with the process. */
  enableMemoryBroker(options?: EitherSpelling<MemoryBrokerSettings>): this;
}

const checks: Checks<MemoryBrokerSettings> = { groupId: is.text, maxBytes: is.integer(1) };

const memory = brokerEngine<MemoryBrokerSettings>({
  name: "memory_broker",
  enabledBy: "enableMemoryBroker",
  broker: "memory",
  openWithin: () => 5,
  load: loadMemoryBroker,
});

export const memoryBrokerFeature = feature<MemoryBrokerFeature>({
  name: "memory broker",
  setup: {
    enableMemoryBroker(host, options) {
      memory.enable(host, readOptions("enableMemoryBroker", options, checks));
    },
  },
  ...memory.stages,
});
