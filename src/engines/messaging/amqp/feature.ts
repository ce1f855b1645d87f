import type { Feature } from "../../../feature/feature.js";
import type { ConfigOf } from "../../../kit/config-of.js";
import type { EitherSpelling } from "../../../kit/names.js";
import { defineBroker } from "../define-broker.js";
import { AmqpConfig, type AmqpOptions } from "./config.js";

export interface AmqpFeature {
  /** Connects to RabbitMQ at the start: `app.publish`, `app.onMessage`. */
  enableAmqp(
    urlOrOptions?: string | ConfigOf<"AmqpConfig"> | EitherSpelling<AmqpOptions> | null,
    prefetchCount?: number | null,
  ): this;
}

export const amqpFeature: Feature<AmqpFeature> = defineBroker({
  name: "amqp",
  enabledBy: "enableAmqp",
  config: AmqpConfig,
  // Each node has its turn.
  openWithin: (config) => config.connectTimeout * 2 * (config.hosts.length + 1) - config.connectTimeout,
  async create(config, { application }) {
    const { createAmqpBroker } = await import("./amqp-broker.js");
    return createAmqpBroker(config, application);
  },
});
