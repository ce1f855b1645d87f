import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createKafkaBroker } from "stoa/messaging";
import { afterAll, beforeAll, describe } from "vitest";
import { startKafka } from "../../../scripts/services/kafka.mjs";
import { service } from "../../support/service.js";
import { faultsContract } from "./contract.js";
import { startTunnel, type Tunnel } from "./tunnel.js";

/** A broker of its own: it must send its clients through the tunnel. */
describe.skipIf(!service("kafka"))("Kafka behind a connection that breaks", () => {
  let folder: string;
  let tunnel: Tunnel;
  let kafka: { stop(): Promise<void> };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "stoa-kafka-faults-"));
    const port = await freePort();
    tunnel = await startTunnel(port);
    kafka = await startKafka(folder, port, { advertised: tunnel.port });
  }, 180_000);

  afterAll(async () => {
    await tunnel?.close();
    await kafka?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  faultsContract("Kafka", {
    connect: () =>
      createKafkaBroker({ brokers: [`127.0.0.1:${tunnel.port}`], sessionTimeout: 6000, connectTimeout: 1000 }),
    stop: () => tunnel.cut(),
    start: () => tunnel.mend(),
  });
});

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
