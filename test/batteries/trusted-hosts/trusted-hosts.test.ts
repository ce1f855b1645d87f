import { App } from "stoa";
import { serve, TestClient } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { hostOf } from "../../../src/app/app.js";
import { planRun } from "../../../src/server/run-options.js";
import { send } from "../wire.js";

/** An application as `run` configures it. */
function runApp(env: "development" | "production", hosts?: string | readonly string[], bound = "127.0.0.1"): App {
  const app = new App();
  app.get("/", () => "in");
  if (hosts !== undefined) app.trustedHosts(hosts);
  const { settings } = planRun({}, { env, host: bound, logs: false }, {});
  hostOf(app).configure({ ...settings, workers: 1 });
  return app;
}

async function statuses(app: App, hosts: readonly string[]): Promise<number[]> {
  await using server = await serve(app);
  return await Promise.all(hosts.map(async (host) => (await send(server.url, "/", { headers: { host } })).status));
}

describe("trusted hosts in production", () => {
  it("All hosts are trusted in production unless some are configured", async () => {
    expect(await statuses(runApp("production"), ["evil.example", "localhost"])).toEqual([200, 200]);
  });

  it("Configured host names are trusted in any case, with any port, and below a wildcard", async () => {
    const app = runApp("production", ["Example.com", "*.books.example"]);
    const served = ["example.com", "EXAMPLE.com:8443", "example.com.", "a.books.example", "a.b.books.example"];
    expect(await statuses(app, served)).toEqual(served.map(() => 200));
    const refused = ["books.example", "xexample.com", "example.com.evil", "abooks.example", "localhost", "127.0.0.1"];
    expect(await statuses(runApp("production", ["example.com", "*.books.example"]), refused)).toEqual(
      refused.map(() => 421),
    );
  });

  it("Trusted hosts can be addresses and ranges", async () => {
    const hosts = ["10.1.2.3:80", "[::1]:80", "11.1.2.3", "[2001:db8::1]", "10.1.2.3.evil.example"];
    expect(await statuses(runApp("production", ["10.0.0.0/8", "::1"]), hosts)).toEqual([200, 200, 421, 421, 421]);
  });

  it("An untrusted host gets a problem that does not repeat the host, also without a route", async () => {
    await using server = await serve(runApp("production", "example.com"));
    const response = await send(server.url, "/nowhere", { headers: { host: "evil.example" } });
    expect([response.status, JSON.parse(response.text)]).toEqual([
      421,
      {
        type: "/errors/misdirected-request",
        title: "Misdirected Request",
        status: 421,
        detail: "This host is not served here.",
        error: "Misdirected Request",
      },
    ]);
  });

  it("Trusted hosts are checked before CORS and middleware, and after the request id", async () => {
    const app = runApp("production", "example.com").enableCors().enableRequestId();
    let reached = false;
    app.use({ before: () => void (reached = true) });
    await using server = await serve(app);
    const headers = { host: "evil.example", origin: "https://a.example" };
    const response = await send(server.url, "/", { headers });
    expect([response.status, reached, response.get("access-control-allow-origin")]).toEqual([421, false, undefined]);
    expect(response.get("x-request-id")).toBeDefined();
  });

  it("Health probes are not checked for trusted hosts, because they use an address", async () => {
    await using server = await serve(runApp("production", "example.com").enableHealthChecks());
    expect((await send(server.url, "/health/live", { headers: { host: "10.0.0.7:8000" } })).status).toBe(200);
  });

  it("The host that a trusted proxy reports is checked", async () => {
    const app = runApp("production", "example.com").trustProxy("loopback");
    await using server = await serve(app);
    const headers = { host: "upstream", "x-forwarded-for": "203.0.113.5" };
    const through = (host: string) =>
      send(server.url, "/", { headers: { ...headers, "x-forwarded-host": host } }).then(({ status }) => status);
    expect([await through("example.com"), await through("evil.example")]).toEqual([200, 421]);
  });
});

describe("trusted hosts in development", () => {
  it("Only hosts that cannot be public names are trusted in development, unless more are configured", async () => {
    const served = [
      "localhost:8000",
      "app.localhost",
      "127.0.0.1",
      "[::1]:8000",
      "192.168.1.7",
      "web:8000",
      "shop.test",
    ];
    const refused = [
      ...["evil.example", "localhost.evil.example", "127.0.0.1.evil.example"],
      ...["evil.contest", "evil.myinternal", "evil.mylocalhost", "test.evil.example"],
    ];
    expect(await statuses(runApp("development"), [...served, ...refused])).toEqual([
      ...served.map(() => 200),
      ...refused.map(() => 421),
    ]);
    expect(await statuses(runApp("development", "*.tunnel.example"), ["localhost", "a.tunnel.example"])).toEqual([
      200, 200,
    ]);
    expect(await statuses(runApp("development", "*"), ["evil.example"])).toEqual([200]);
    expect(await statuses(runApp("development", undefined, "dev.box.example"), ["dev.box.example"])).toEqual([200]);
  });

  it("The refusal of a host in development names the remedy", async () => {
    await using server = await serve(runApp("development"));
    const response = await send(server.url, "/", { headers: { host: "evil.example" } });
    expect(response.text).toContain("app.trustedHosts([...])");
  });

  it("Trusted hosts do not apply to fetch and the test client", async () => {
    const app = new App();
    app.get("/", (request) => request.url);
    expect((await app.fetch(new Request("https://example.com/"))).status).toBe(200);
    await using client = new TestClient(app, { baseUrl: "http://books.example" });
    expect((await client.get("/")).status).toBe(200);
  });
});

describe("the Host field", () => {
  it.each(["a b", "a@example.com", "example.com:x", "[::1", "example.com/x", "."])(
    "The Host field %j is refused with 400",
    async (host) => {
      const app = new App().trustedHosts("example.com");
      app.get("/", () => "in");
      const response = await app.fetch(new Request("http://example.com/", { headers: { host } }));
      expect(response.status).toBe(400);
    },
  );
});

describe("trustedHosts()", () => {
  it.each([
    [[], "one host at least"],
    [["https://example.com"], 'not "https://example.com"'],
    [["example.com:80"], 'not "example.com:80"'],
    [["a.*.example"], 'not "a.*.example"'],
    [[7], "not 7"],
    [["300.1.2.3"], '"300.1.2.3" in trustedHosts() is not an address'],
    [undefined, "not undefined"],
  ])("trustedHosts() refuses %j", (hosts, message) => {
    expect(() => new App().trusted_hosts(hosts as never)).toThrow(message);
  });
});
