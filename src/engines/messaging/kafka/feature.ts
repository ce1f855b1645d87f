import { feature } from "../../../feature/feature.js";
import type { ConfigOf } from "../../../internal/config-of.js";
import type { EitherSpelling } from "../../../internal/names.js";
import { brokerEngine } from "../broker-engine.js";
import { LogBrokerConfig, type LogBrokerOptions } from "./config.js";
import { loadKafkaBroker } from "./load-broker.js";

export interface LogBrokerFeature {
  /** Connects to Kafka at the start: `app.publish`, `app.onMessage`. */
  enableMessaging(
    brokersOrOptions?: readonly string[] | ConfigOf<"LogBrokerConfig"> | EitherSpelling<LogBrokerOptions> | null,
    groupId?: string | null,
  ): this;
}

const kafka = brokerEngine<LogBrokerConfig>({
  name: "kafka",
  enabledBy: "enableMessaging",
  broker: "kafka",
  // The client tries each broker several times.
  openWithin: (config) => (config.connectTimeout / 1000) * 4,
  load: loadKafkaBroker,
});

export const logBrokerFeature = feature<LogBrokerFeature>({
  name: "log broker",
  setup: {
    enableMessaging(host, ...given) {
      const [first] = given;
      kafka.enable(host, first instanceof LogBrokerConfig ? first : new LogBrokerConfig(...(given as [string[]])));
    },
  },
  ...kafka.stages,
});
