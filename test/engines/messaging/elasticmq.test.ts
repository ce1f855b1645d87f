import { describe } from "vitest";
import { service } from "../../support/service.js";
import { cloudQueueSuite } from "./cloud-queue-suite.js";

const elasticmq = service("elasticmq");

describe.skipIf(!elasticmq)("SQS as ElasticMQ emulates it", () => cloudQueueSuite("ElasticMQ", () => elasticmq!));
