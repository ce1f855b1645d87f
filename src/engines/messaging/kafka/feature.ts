import type { Feature } from "../../../feature/feature.js";
import type { ConfigOf } from "../../../kit/config-of.js";
import type { EitherSpelling } from "../../../kit/names.js";
import { ValueError } from "../../../kit/value-error.js";
import { defineBroker } from "../define-broker.js";
import { LogBrokerConfig, type LogBrokerOptions } from "./config.js";

export interface LogBrokerFeature {
  /** Connects to Kafka at the start: `app.publish`, `app.onMessage`. */
  enableMessaging(
    brokersOrOptions?: readonly string[] | ConfigOf<"LogBrokerConfig"> | EitherSpelling<LogBrokerOptions> | null,
    groupId?: string | null,
  ): this;
}

export const logBrokerFeature: Feature<LogBrokerFeature> = defineBroker({
  name: "kafka",
  enabledBy: "enableMessaging",
  config: LogBrokerConfig,
  // The client tries each broker several times.
  openWithin: (config) => config.connectTimeout * 4,
  async create(config, { application, workers = 1 }) {
    if (config.groupInstanceId !== undefined && workers > 1) {
      const text = `option 'groupInstanceId' in LogBrokerConfig names one process, and the application has ${workers} workers`;
      throw new ValueError(text);
    }
    const { createKafkaBroker } = await import("./kafka-broker.js");
    return createKafkaBroker(config, application);
  },
});
