import { feature } from "../../../feature/feature.js";
import type { ConfigOf } from "../../../internal/config-of.js";
import type { EitherSpelling } from "../../../internal/names.js";
import { brokerEngine } from "../broker-engine.js";
import { CloudQueueConfig, type CloudQueueOptions } from "./config.js";
import { loadSqsBroker } from "./load-broker.js";

export interface CloudQueueFeature {
  /** Connects to Amazon SQS at the start: `app.publish`, `app.onMessage`. */
  enableCloudQueue(
    regionOrOptions?: string | ConfigOf<"CloudQueueConfig"> | EitherSpelling<CloudQueueOptions> | null,
    queueUrl?: string | null,
  ): this;
}

const sqs = brokerEngine<CloudQueueConfig>({
  name: "cloud_queue",
  enabledBy: "enableCloudQueue",
  broker: "sqs",
  // The SDK tries three times.
  openWithin: (config) => (config.connectTimeout / 1000) * 3,
  load: loadSqsBroker,
});

export const cloudQueueFeature = feature<CloudQueueFeature>({
  name: "cloud queue",
  setup: {
    enableCloudQueue(host, ...given) {
      const [first] = given;
      sqs.enable(host, first instanceof CloudQueueConfig ? first : new CloudQueueConfig(...(given as [string])));
    },
  },
  ...sqs.stages,
});
