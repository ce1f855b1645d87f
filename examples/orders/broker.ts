import type { App } from "stoa";

export type BrokerName = "memory" | "kafka" | "amqp" | "sqs";

/**
 * The broker of the variable BROKER, and its address in BROKER_URL; that of Kafka may be a list with commas. The rest of the
 * program is the same for all.
 */
export interface BrokerChoice {
  readonly broker: BrokerName;
  readonly url?: string | undefined;
}

/** The names of their health checks. */
export const brokerChecks: Readonly<Record<BrokerName, string>> = {
  memory: "memory_broker",
  kafka: "kafka",
  amqp: "amqp",
  sqs: "cloud_queue",
};

export function brokerOf(env: Readonly<Record<string, string | undefined>>): BrokerChoice {
  const broker = env["BROKER"] ?? "memory";
  if (!["memory", "kafka", "amqp", "sqs"].includes(broker)) {
    throw new Error(`BROKER is memory, kafka, amqp or sqs, not '${broker}'`);
  }
  return { broker: broker as BrokerName, url: env["BROKER_URL"] };
}

export function enableBroker(app: App, { broker, url }: BrokerChoice): void {
  switch (broker) {
    case "memory":
      app.enableMemoryBroker();
      break;
    case "kafka":
      app.enableMessaging({ brokers: (url ?? "127.0.0.1:9092").split(",") });
      break;
    case "amqp":
      app.enableAmqp({ url: url ?? "amqp://guest:guest@127.0.0.1:5672" });
      break;
    case "sqs":
      app.enableCloudQueue(url === undefined ? {} : { endpoint: url });
  }
}
