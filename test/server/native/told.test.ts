import { App } from "stoa";
import { describe, expect, it } from "vitest";
import { banner } from "../../../src/server/banner.js";
import { planRun } from "../../../src/server/run-options.js";
import { withoutNative } from "../support.js";

async function served(transport: "native" | "net") {
  const app = new App();
  app.enableHealthChecks();
  app.enableMetrics();
  const server = await app.run({ port: 0, exit: false, transport, logs: false });
  const health = await (await fetch(`${server.url}/health/live`)).json();
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

  it.skipIf(withoutNative !== undefined)("A whole application runs on the native transport and says so", async () => {
    const { health, metrics } = await served("native");
    expect(health).toMatchObject({ status: "UP", transport: "native" });
    expect(metrics).toContain('framework_http_transport_info{transport="native",reason=""} 1\n');
  });

  it.skipIf(withoutNative === undefined)(
    "A native server without its addon does not start, and names the cure",
    async () => {
      await expect(served("native")).rejects.toThrow('transport "native" cannot be used');
    },
  );
});
