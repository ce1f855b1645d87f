import type { Feature } from "../../../feature/feature.js";
import { config, type OptionsOf, option } from "../../../kit/config.js";
import type { EitherSpelling } from "../../../kit/names.js";
import { is } from "../../../kit/options.js";
import { defineBroker } from "../define-broker.js";

class MemoryBrokerConfig extends config("enableMemoryBroker", {
  /** The group of consumers that name none. Default: the name of the application, else "stoa". */
  groupId: option(is.text),
  /** The largest message in bytes. Default 1 MiB. */
  maxBytes: option(is.limit(1)),
}) {}

export interface MemoryBrokerSettings extends OptionsOf<typeof MemoryBrokerConfig.options.fields> {}

export interface MemoryBrokerFeature {
  /** Uses a broker in the memory of the process, for development and tests. Messages end with the process. */
  enableMemoryBroker(options?: EitherSpelling<MemoryBrokerSettings>): this;
}

export const memoryBrokerFeature: Feature<MemoryBrokerFeature> = defineBroker({
  name: "memory",
  healthCheck: "memory_broker",
  enabledBy: "enableMemoryBroker",
  config: MemoryBrokerConfig,
  async create({ groupId, maxBytes }, { application }) {
    const { MemoryBroker } = await import("./memory-broker.js");
    return new MemoryBroker({ groupId: groupId ?? application, maxBytes });
  },
});
