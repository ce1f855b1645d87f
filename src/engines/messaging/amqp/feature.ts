import { feature } from "../../../feature/feature.js";
import type { ConfigOf } from "../../../internal/config-of.js";
import type { EitherSpelling } from "../../../internal/names.js";
import { brokerEngine } from "../broker-engine.js";
import { AmqpConfig, type AmqpOptions } from "./config.js";
import { loadAmqpBroker } from "./load-broker.js";

export interface AmqpFeature {
  /** Connects to RabbitMQ at the start: `app.publish`, `app.onMessage`. */
  enableAmqp(
    urlOrOptions?: string | ConfigOf<"AmqpConfig"> | EitherSpelling<AmqpOptions> | null,
    prefetchCount?: number | null,
  ): this;
}

const amqp = brokerEngine<AmqpConfig>({
  name: "amqp",
  enabledBy: "enableAmqp",
  broker: "amqp",
  openWithin: (config) => config.connectTimeout / 1000,
  load: loadAmqpBroker,
});

export const amqpFeature = feature<AmqpFeature>({
  name: "AMQP broker",
  setup: {
    enableAmqp(host, ...given) {
      const [first] = given;
      amqp.enable(host, first instanceof AmqpConfig ? first : new AmqpConfig(...(given as [string])));
    },
  },
  ...amqp.stages,
});
