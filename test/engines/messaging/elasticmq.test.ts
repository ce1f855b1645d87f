import { describe } from "vitest";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";
import { cloudQueueSuite } from "./cloud-queue-suite.js";

const elasticmq = isLong ? service("elasticmq") : undefined;

describe.skipIf(!elasticmq)("SQS as ElasticMQ emulates it", () => cloudQueueSuite("ElasticMQ", () => elasticmq!));
