import { type BrokerFeature, defineBroker } from "stoa/messaging";
import { NatsConfig } from "./config.js";

/** NATS JetStream: `app.install(nats, { servers: ["nats://10.0.0.1:4222"] })`. */
export const nats: BrokerFeature<ConstructorParameters<typeof NatsConfig>> = defineBroker({
  name: "nats",
  config: NatsConfig,
  openWithin: ({ connectTimeout }) => connectTimeout * 2,
  async create(settings, { application }) {
    const { NatsBroker } = await import("./broker.js");
    return new NatsBroker(settings, settings.groupId ?? application ?? "stoa");
  },
});

declare module "stoa/messaging" {
  interface BrokerNames {
    readonly nats: true;
  }
}
