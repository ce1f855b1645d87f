import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { App } from "stoa";
import { topic } from "stoa/messaging";
import { testBroker, testBrokerFaults } from "stoa/testing/broker";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { NatsConfig } from "../src/config.js";
import { nats } from "../src/nats.js";

/** The address of a NATS server with JetStream. */
const url = process.env.STOA_TEST_NATS;

const apps: App[] = [];
afterEach(async () => {
  for (const app of apps.splice(0)) await app.stop();
});

describe.skipIf(!url)("NATS JetStream", () => {
  const servers = [url!];
  testBroker({ name: "NATS", connect: () => nats.create({ servers }), abilities: ["broadcast"] }, { describe, it });

  describe("behind a connection that breaks", () => {
    let tunnel: Awaited<ReturnType<typeof startTunnel>>;
    beforeAll(async () => {
      tunnel = await startTunnel(Number(new URL(url!).port));
    });
    afterAll(() => tunnel.stop());
    const broker = {
      name: "NATS",
      // Messages that were under way when the connection broke come again when their time is up.
      connect: () => nats.create({ servers: [`nats://127.0.0.1:${tunnel.port}`], ackWait: "2s", connectTimeout: "2s" }),
      stop: () => tunnel.stop(),
      start: () => tunnel.start(),
    };
    testBrokerFaults(broker, { describe, it });
  });

  it("An application that installs NATS publishes and handles messages, and has it in its readiness", async () => {
    const app = new App().install(nats, { servers });
    apps.push(app);
    app.enableHealthChecks();
    const orders = topic<{ id: number }>(`orders.${Date.now()}`, { broker: "nats" });
    const handled = new Promise<number>((resolve) => {
      app.onMessage(orders, ({ value }) => resolve(value.id));
    });
    await app.start();
    await app.publish(orders, { id: 7 });
    expect(await handled).toBe(7);
    const report = (await (await app.request("/health/ready")).json()) as { checks: Record<string, unknown> };
    expect(report.checks).toMatchObject({ nats: { status: "UP" }, consumers: { status: "UP" } });
  });
});

describe("NATS that is away", () => {
  it("The start fails with the address and the reason", async () => {
    const app = new App().install(nats, { servers: ["nats://127.0.0.1:1"] });
    await expect(app.start()).rejects.toThrow("NATS at nats://127.0.0.1:1 is unreachable:");
  });
});

describe("the options of NATS", () => {
  it("Wrong options and a second installation are refused", () => {
    expect(() => new App().install(nats, { server: "x" } as never)).toThrow("did you mean 'servers'?");
    expect(() => new App().install(nats).install(nats)).toThrow("the feature nats broker is installed already");
    expect(new NatsConfig({ maxAge: "1d" }).maxAge).toBe(86_400);
  });
});

/** A way to the server that can be cut, and opened again on the same port. */
async function startTunnel(target: number) {
  const sockets = new Set<Socket>();
  const server = createServer((inner) => {
    const outer = connect(target, "127.0.0.1");
    for (const [one, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(one);
      one.on("error", () => {}).on("close", () => other.destroy());
      one.pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
      sockets.clear();
    },
    async start() {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
    },
  };
}
