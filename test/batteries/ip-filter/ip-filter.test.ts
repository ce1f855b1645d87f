import { once } from "node:events";
import { connect } from "node:net";
import { App, Blueprint, HttpError, type IpFilterOptions, ipFilter, type Request } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";

async function statuses(options: IpFilterOptions, clients: readonly string[]): Promise<number[]> {
  const app = new App().trustProxy("loopback").enableIpFilter(options);
  app.get("/", () => "in");
  await using server = await serve(app);
  return await Promise.all(
    clients.map(async (client) => (await fetch(server.url, { headers: { "x-forwarded-for": client } })).status),
  );
}

describe("the IP filter", () => {
  it("The IP filter admits the clients in `allow`, and no others", async () => {
    const clients = ["203.0.113.5", "203.0.114.5", "2001:db8::9", "::ffff:203.0.113.6", "2001:db9::9"];
    expect(await statuses({ allow: ["203.0.113.0/24", "2001:db8::/32"] }, clients)).toEqual([200, 403, 200, 200, 403]);
  });

  it("The IP filter refuses the clients in `deny`, also if `allow` has them", async () => {
    const clients = ["203.0.113.5", "203.0.113.66", "198.51.100.1"];
    expect(await statuses({ deny: ["203.0.113.66"] }, clients)).toEqual([200, 403, 200]);
    const both = { allow: ["203.0.113.0/24"], deny: ["203.0.113.66"] };
    expect(await statuses(both, clients)).toEqual([200, 403, 403]);
  });

  it("The IP filter knows an IPv4 client that a socket for both families reports inside IPv6", () => {
    const { before } = ipFilter({ deny: ["203.0.113.66"] });
    const check = (ip: string) => before!({ ip } as Request);
    expect(() => check("::ffff:203.0.113.66")).toThrow(HttpError);
    expect(() => check("::FFFF:cb00:7142")).toThrow(HttpError);
    expect(() => check("::ffff:203.0.113.67")).not.toThrow();
  });

  it("The IP filter refuses a client before its body is read", async () => {
    const app = new App().enableIpFilter({ deny: ["loopback"] });
    app.post("/", (request) => request.text());
    await using server = await serve(app);
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n");
    const [first] = (await once(socket, "data")) as [Buffer];
    expect(first.toString()).toMatch(/^HTTP\/1\.1 403 /);
    socket.destroy();
  });

  it("A refusal of the IP filter is a problem document that does not show the address", async () => {
    const app = new App().enable_ip_filter({ deny: ["loopback"] });
    app.get("/", () => "in");
    await using server = await serve(app);
    const response = await fetch(server.url);
    expect([response.status, response.headers.get("content-type")]).toEqual([403, "application/problem+json"]);
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ type: "/errors/forbidden", status: 403 });
    expect(text).not.toContain("127.0.0.1");
  });

  it("The IP filter ignores a header that no trusted proxy wrote", async () => {
    const app = new App().enableIpFilter({ allow: ["203.0.113.5"] });
    app.get("/", () => "in");
    await using server = await serve(app);
    for (const name of ["x-forwarded-for", "x-real-ip", "forwarded"]) {
      expect((await fetch(server.url, { headers: { [name]: "203.0.113.5" } })).status).toBe(403);
    }
  });

  it("An IP filter with `allow` refuses a peer of unknown address, unless it allows Unix sockets", async () => {
    for (const [allow, status] of [
      [["loopback"], 403],
      [["unix"], 200],
    ] as const) {
      const app = new App().enableIpFilter({ allow: [...allow] });
      app.get("/", () => "in");
      expect((await app.request("/")).status).toBe(status);
    }
  });

  it("The IP filter runs before authentication and before routing", async () => {
    const app = new App().enableIpFilter({ deny: ["loopback"] });
    let reached = false;
    app.use({ before: () => void (reached = true) });
    await using server = await serve(app);
    expect([(await fetch(`${server.url}/nowhere`)).status, reached]).toEqual([403, false]);
  });

  it("The IP filter can be used for one blueprint alone", async () => {
    const admin = new Blueprint("/admin").use(ipFilter({ allow: ["10.0.0.0/8"] }));
    admin.get("/", () => "in");
    const app = new App().registerBlueprint(admin);
    app.get("/", () => "in");
    await using server = await serve(app);
    expect((await fetch(server.url)).status).toBe(200);
    expect((await fetch(`${server.url}/admin`)).status).toBe(403);
  });

  it.each([
    ["app.use(ipFilter())", (app: App) => app.use(ipFilter({ deny: ["loopback"] }))],
    ["enableIpFilter()", (app: App) => app.enableIpFilter({ deny: ["loopback"] })],
  ])("The IP filter as %s runs before health probes and the live page too", async (_name, protect) => {
    const app = protect(new App().enableHealthChecks().enableLivePage());
    await using server = await serve(app, { debug: true });
    for (const path of ["/health", "/health/live", "/_stoa", "/_stoa/events"]) {
      expect((await fetch(`${server.url}${path}`)).status, path).toBe(403);
    }
  });

  it("The IP filter refuses invalid lists", () => {
    expect(() => ipFilter({})).toThrow("ipFilter needs allow or deny");
    expect(() => ipFilter({ allow: ["nowhere"] })).toThrow('"nowhere" in ipFilter is not an address');
    expect(() => ipFilter({ alow: [] } as never)).toThrow("did you mean 'allow'?");
  });
});
