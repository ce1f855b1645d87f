import { App } from "stoa";
import { describe, expect, it } from "vitest";
import { banner } from "../../../src/server/banner.js";
import { chooseTransport } from "../../../src/server/choose-transport.js";
import type { Addon } from "../../../src/server/native/addon.js";
import { wireOf } from "../../../src/server/native/wire.js";
import { planRun } from "../../../src/server/run-options.js";
import { withoutNative } from "../support.js";

async function served(transport: "auto" | "native" | "net") {
  const app = new App();
  app.enableHealthChecks();
  app.enableMetrics();
  const server = await app.run({ port: 0, exit: false, transport, logs: false });
  const health = (await (await fetch(`${server.url}/health/live`)).json()) as { transport: string };
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  await server.close();
  return { health, metrics };
}

describe("the transport that serves", () => {
  it("Banner, health report and metrics tell the transport", async () => {
    const { health, metrics } = await served("net");
    expect(health).toMatchObject({ status: "UP", transport: "net" });
    expect(metrics).toContain('framework_http_transport_info{transport="net",reason=""} 1\n');
    const plan = planRun({}, { transport: "node" }, {});
    expect(banner(plan, { host: "127.0.0.1", port: 1 }, [], false)).toMatch(/Transport +node\n/);
  });

  it.skipIf(withoutNative !== undefined).each(["auto", "native"] as const)(
    "A whole application with transport %s runs on the native one where it is built, and says so",
    async (transport) => {
      const { health, metrics } = await served(transport);
      expect(health).toMatchObject({
        status: "UP",
        transport: expect.stringMatching(/^native \((?:epoll|io_uring)\)$/),
      });
      expect(metrics).toContain(`framework_http_transport_info{transport="${health.transport}",reason=""} 1\n`);
    },
  );

  it.skipIf(withoutNative === undefined)("Without the addon the server runs on node:net and says why", async () => {
    const { health, metrics } = await served("auto");
    expect(health).toMatchObject({ status: "UP", transport: "net" });
    expect(metrics).toContain(`framework_http_transport_info{transport="net",reason="${withoutNative}"} 1\n`);
  });

  it("TLS and HTTP/2 run on node:net, and the banner says why", () => {
    const plan = { ...planRun({}, {}, {}), tls: {} };
    expect(chooseTransport(plan)).toEqual({ name: "net", notNative: "it does not speak TLS" });
    const http2 = planRun({ http2: true }, {}, {});
    expect(banner(http2, { host: "127.0.0.1", port: 1 }, [], false)).toMatch(
      /Transport +net \(not native: it does not speak HTTP\/2\)\n/,
    );
  });

  it("A system that refuses the native transport gets node:net, with the name of the error", () => {
    const refused = { open: () => -24 } as unknown as Addon;
    const reason = "the system refuses it: EMFILE";
    const choose = (transport: "auto" | "native") =>
      chooseTransport({ transport, tls: null, http2: null }, () => wireOf(refused, "auto"));
    expect(choose("auto")).toEqual({ name: "net", notNative: reason });
    expect(() => choose("native")).toThrow(`transport "native" cannot be used: ${reason}; or choose transport "auto"`);
  });

  it("An engine that there is not is refused, with the names of those that there are", () => {
    const reason = 'STOA_NATIVE must be one of "auto", "epoll", "io_uring", not "kqueue"';
    expect(() => wireOf("not built", "kqueue")).toThrow(reason);
  });

  it.skipIf(withoutNative === undefined)(
    "A native server without its addon does not start, and names the cure",
    async () => {
      await expect(served("native")).rejects.toThrow('transport "native" cannot be used');
    },
  );
});
