import { startFauxqs } from "fauxqs";
import { createSqsBroker } from "stoa/messaging";
import { testBrokerFaults } from "stoa/testing/broker";
import { afterAll, beforeAll, describe, it } from "vitest";
import { isLong } from "../../support/long.js";
import { service } from "../../support/service.js";
import { credentials } from "./cloud-queue-suite.js";
import { startTunnel, type Tunnel } from "./tunnel.js";

const elasticmq = isLong ? service("elasticmq") : undefined;

describe("SQS as fauxqs emulates it, behind a connection that breaks", () => {
  let server: Awaited<ReturnType<typeof startFauxqs>>;
  beforeAll(async () => {
    server = await startFauxqs({ port: 0, logger: false });
  });
  afterAll(() => server.stop());
  behindTunnel("fauxqs", () => server.address);
});

describe.skipIf(!elasticmq)("SQS as ElasticMQ emulates it, behind a connection that breaks", () =>
  behindTunnel("ElasticMQ", () => elasticmq!),
);

function behindTunnel(name: string, endpoint: () => string): void {
  let tunnel: Tunnel;
  beforeAll(async () => {
    tunnel = await startTunnel(Number(new URL(endpoint()).port));
  });
  afterAll(() => tunnel.close());
  // Messages that were under way when the connection broke come again when their time is up.
  const settings = { fifo: true, waitTime: 0, visibilityTimeout: 2, connectTimeout: 0.5, credentials };
  const broker = {
    name: `${name}, with FIFO queues`,
    connect: () => createSqsBroker({ ...settings, endpoint: `http://127.0.0.1:${tunnel.port}` }),
    stop: () => tunnel.cut(),
    start: () => tunnel.mend(),
  };
  testBrokerFaults(broker, { describe, it });
}
