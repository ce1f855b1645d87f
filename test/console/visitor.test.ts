import http from "node:http";
import type { AddressInfo } from "node:net";
import { App } from "stoa";
import { consoleSection, feature } from "stoa/feature";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hostOf } from "../../src/app/app.js";
import { consolePaths } from "../../src/console/add-section.js";
import { quiet } from "../patterns/events/stores.js";

const mail = feature({
  name: "mail",
  install() {},
  prepare: async (host) =>
    consoleSection(host, { title: "Mail", path: "/_mail", view: async () => ({ panels: [] }), actions: {} }),
});

describe("pages of the console without guards, in development", () => {
  const app = new App();
  app.logger = quiet;
  app
    .trustProxy("loopback")
    .enableLivePage({ hosts: ["box.test"] })
    .enableEventSourcing("memory")
    .enableDatabase("pglite:")
    .enableSaga({ admin: {} })
    .enableJobs({ admin: {} })
    .install(mail);
  const server = http.createServer(app.nodeListener());
  let peer = "127.0.0.1";
  server.prependListener("connection", (socket) => Object.defineProperty(socket, "remoteAddress", { value: peer }));
  beforeAll(async () => {
    await app.start();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  }, 240_000);
  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await app.stop();
  });

  /** The status alone: the events of the live page do not end. */
  const status = (path: string, headers: Record<string, string> = {}): Promise<number> =>
    new Promise((resolve, reject) => {
      const { port } = server.address() as AddressInfo;
      const method = path.endsWith("/act") ? "POST" : "GET";
      const options = { port, host: "127.0.0.1", path, method, agent: false };
      const request = http.request({ ...options, headers: { host: "localhost", ...headers } }, (response) => {
        resolve(response.statusCode!);
        response.destroy();
      });
      request.on("error", reject);
      request.end();
    });
  const refused = async (headers: Record<string, string>): Promise<string[]> => {
    const passed: string[] = [];
    for (const path of consolePaths(hostOf(app))) if ((await status(path, headers)) !== 403) passed.push(path);
    return passed;
  };

  it("The pages of all features are served to the same machine", async () => {
    const paths = [...consolePaths(hostOf(app))];
    for (const page of ["/_stoa", "/_stoa/events", "/_stoa/event-store", "/_sagas", "/_jobs", "/_mail"]) {
      expect(paths).toContain(page);
      expect(await status(page), page).toBe(200);
    }
    // Calls without their parameters are mistakes, and not forbidden.
    for (const path of paths) expect([200, 400, 404], path).toContain(await status(path));
  });

  it.each(["172.17.0.1", "192.168.1.7", "203.0.113.5", "fe80::1", "::ffff:10.0.0.1"])(
    "No page or call is served to a client at %s",
    async (address) => {
      peer = address;
      expect(await refused({})).toEqual([]);
      peer = "127.0.0.1";
    },
  );

  it("No page or call is served to a forwarded request, whatever address it claims", async () => {
    for (const client of ["203.0.113.5", "172.17.0.1", "127.0.0.1"]) {
      expect(await refused({ "x-forwarded-for": client })).toEqual([]);
      expect(await refused({ forwarded: `for=${client}` })).toEqual([]);
      expect(await refused({ "x-real-ip": client })).toEqual([]);
    }
    expect(await refused({ "x-forwarded-host": "shop.example" })).toEqual([]);
    expect(await refused({ via: "1.1 proxy" })).toEqual([]);
  });

  it("No page or call is served under a foreign host or to another site", async () => {
    expect(await refused({ host: "evil.example" })).toEqual([]);
    expect(await refused({ origin: "https://evil.example" })).toEqual([]);
  });

  it("A host that the developer has named is served to all clients, on the pages of developers alone", async () => {
    const passed = await refused({ host: "box.test", "x-forwarded-for": "203.0.113.5" });
    expect(passed.every((path) => path.startsWith("/_stoa"))).toBe(true);
    expect(passed).toContain("/_stoa/event-store/view");
  });
});
