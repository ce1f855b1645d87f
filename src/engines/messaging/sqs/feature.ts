import type { Feature } from "../../../feature/feature.js";
import type { ConfigOf } from "../../../kit/config-of.js";
import type { EitherSpelling } from "../../../kit/names.js";
import { defineBroker } from "../define-broker.js";
import { CloudQueueConfig, type CloudQueueOptions } from "./config.js";

export interface CloudQueueFeature {
  /** Connects to Amazon SQS at the start: `app.publish`, `app.onMessage`. */
  enableCloudQueue(
    regionOrOptions?: string | ConfigOf<"CloudQueueConfig"> | EitherSpelling<CloudQueueOptions> | null,
    queueUrl?: string | null,
  ): this;
}

export const cloudQueueFeature: Feature<CloudQueueFeature> = defineBroker({
  name: "sqs",
  healthCheck: "cloud_queue",
  enabledBy: "enableCloudQueue",
  config: CloudQueueConfig,
  // The SDK tries three times.
  openWithin: (config) => config.connectTimeout * 3,
  async create(config, { application }) {
    const { createSqsBroker } = await import("./sqs-broker.js");
    return createSqsBroker(config, application);
  },
});
