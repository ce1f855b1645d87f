import { App, Authenticated, Blueprint, Response, Role } from "stoa";
import { consoleSection, feature } from "stoa/feature";
import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { hostOf } from "../../../src/app/app.js";
import { until } from "../../server/process/program.js";
import { send } from "../wire.js";
import { readEvents } from "./events.js";

describe("the live page", () => {
  it("The live page is available in development, at its path or another", async () => {
    const app = new App().enableLivePage();
    await using server = await serve(app, { debug: true });
    const page = await send(server.url, "/_stoa");
    expect([page.status, page.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(page.get("cache-control")).toBe("no-store");
    await using elsewhere = await serve(new App().enable_live_page("/watch/"), { debug: true });
    expect((await send(elsewhere.url, "/watch")).status).toBe(200);
    expect((await send(elsewhere.url, "/_stoa")).status).toBe(404);
  });

  it("The live page and its events do not exist in production", async () => {
    const app = new App().enableLivePage();
    await using server = await serve(app, { debug: false });
    for (const path of ["/_stoa", "/_stoa/events"]) expect((await send(server.url, path)).status).toBe(404);
    expect(hostOf(app).links()).toEqual([]);
  });

  it("The live page is listed in the banner", async () => {
    const app = new App().enableLivePage();
    await app.start();
    expect(hostOf(app).links()).toEqual([["Live", "/_stoa"]]);
  });

  it("The live page is one document with inline style and script by hash, and can load nothing else", async () => {
    await using server = await serve(new App().enableLivePage().enableSecurityHeaders(), { debug: true });
    const page = await send(server.url, "/_stoa");
    const policy = page.get("content-security-policy")!;
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[\w+/=]+'; script-src 'sha256-[\w+/=]+'; connect-src 'self';/,
    );
    expect(policy).not.toContain("unsafe");
    expect(page.text.match(/(?:src|href|action)="(?!data:)[^"]*"/g)).toBeNull();
    expect(page.text).not.toMatch(/\sstyle="|@import|url\(/);
  });

  it("Other sites cannot read the live page, whatever CORS allows", async () => {
    await using server = await serve(new App().enableLivePage().enableCors(), { debug: true });
    const ask = async (path: string, headers: Record<string, string>): Promise<number> =>
      (await send(server.url, path, { headers })).status;
    for (const path of ["/_stoa", "/_stoa/events"]) {
      for (const origin of [
        "https://evil.example",
        "null",
        "http://localhost:1",
        "http://localhost:8000.evil.example",
      ]) {
        expect(await ask(path, { host: "localhost:8000", origin }), origin).toBe(403);
      }
    }
    expect(await ask("/_stoa/events", { "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await ask("/_stoa/events", { "sec-fetch-site": "same-site" })).toBe(403);
    expect(await ask("/_stoa", { host: "localhost:8000", origin: "http://LOCALHOST:8000" })).toBe(200);
  });

  it.each([
    ["localhost:8000", 200],
    ["app.localhost", 200],
    ["127.0.0.1:8000", 200],
    ["[::1]:8000", 200],
    ["box.test:8000", 200],
    ["192.168.1.7", 200],
    ["BOX.test", 200],
    ["203.0.113.5", 403],
    ["evil.example", 403],
    ["127.0.0.1.evil.example", 403],
  ])("The live page under the host %s responds with %i", async (host, status) => {
    await using server = await serve(new App().enableLivePage({ hosts: ["box.test"] }), { debug: true });
    expect((await send(server.url, "/_stoa", { headers: { host } })).status).toBe(status);
  });

  it("Remote clients cannot open the live page, unless they use a configured host", async () => {
    const app = new App().enableLivePage({ hosts: ["box.test"] }).trustProxy("loopback");
    await using server = await serve(app, { debug: true });
    const from = async (client: string, host: string): Promise<number> =>
      (await send(server.url, "/_stoa", { headers: { host, "x-forwarded-for": client } })).status;
    expect(await from("203.0.113.5", "localhost")).toBe(403);
    expect(await from("172.17.0.1", "localhost")).toBe(403);
    expect(await from("203.0.113.5", "box.test")).toBe(200);
  });

  it("The live page is served at the path of its option alone", async () => {
    await using server = await serve(new App().enableLivePage({ path: "/_watch" }), { debug: true });
    expect((await send(server.url, "/_watch")).status).toBe(200);
    expect((await send(server.url, "/_stoa")).status).toBe(404);
  });

  it("The live page needs no login, because middleware and guards run after it", async () => {
    const app = new App().enableLivePage();
    app.use({ before: () => Response.json({}, 401) });
    await using server = await serve(app, { debug: true });
    expect((await send(server.url, "/_stoa")).status).toBe(200);
  });

  it.each([
    [{ path: "x" }, "a path that begins with '/'"],
    [{ path: "/{x}" }, "a plain path"],
    [{ paths: "/x" }, "did you mean 'path'?"],
    [{ requests: 0 }, "an integer from 1 to 10000"],
  ])("enableLivePage() refuses the options %j", (options, message) => {
    expect(() => new App().enableLivePage(options as never)).toThrow(message);
  });
});

describe("the events of the live page", () => {
  function watchedApp(): App {
    const app = new App().enableLivePage({ requests: 3 });
    const nothing = (): void => {};
    const logger = { debug: nothing, info: nothing, warn: nothing, error: nothing, child: () => logger };
    app.logger = logger;
    app.addGuard(function everyone() {
      return true;
    });
    app.get("/books/{id}", { tags: ["books"], summary: "One book" }, () => ({ a: 1 }));
    app.post("/books", { guards: [new Authenticated()] }, () => null);
    app.get("/fails", () => {
      throw new Error("no way to postgres://app:hunter2@db");
    });
    app.get("/reset/{token}/{step}", () => "x");
    const admin = new Blueprint("/admin", { tags: ["admin"] });
    admin.addGuard(new Role("admin"));
    admin.websocket("/feed", () => {});
    app.registerBlueprint(admin);
    return app;
  }

  it("A browser connects to the events of the live page again after a second", async () => {
    await using server = await serve(watchedApp(), { debug: true });
    const leave = new AbortController();
    const response = await fetch(`${server.url}/_stoa/events`, { signal: leave.signal });
    const { value } = await response.body!.pipeThrough(new TextDecoderStream()).getReader().read();
    leave.abort();
    expect(value).toMatch(/^retry: 1000\n/);
  });

  it("The events of the live page begin with routes, guards, tags, requests, seconds and health", async () => {
    const app = watchedApp();
    app.healthCheck("db", () => true);
    await using server = await serve(app, { debug: true });
    await send(server.url, "/books/1");
    await using events = await readEvents(server.url);
    const hello = await events.next("hello");
    expect(hello["pid"]).toBe(process.pid);
    expect(hello["routes"]).toEqual([
      route({
        methods: ["WS"],
        path: "/admin/feed",
        tags: ["admin"],
        guards: ["everyone", "Role(admin)"],
        websocket: true,
      }),
      route({ methods: ["POST"], path: "/books", guards: ["everyone", "Authenticated"] }),
      route({ methods: ["GET"], path: "/books/{id}", tags: ["books"], guards: ["everyone"], summary: "One book" }),
      route({ methods: ["GET"], path: "/fails", guards: ["everyone"] }),
      route({ methods: ["GET"], path: "/reset/{token}/{step}", guards: ["everyone"] }),
      route({ methods: ["GET"], path: "/_stoa", internal: true }),
      route({ methods: ["GET"], path: "/_stoa/events", internal: true }),
    ]);
    expect(hello["requests"]).toMatchObject([
      { n: 1, method: "GET", path: "/books/1", pattern: "/books/{id}", status: 200, size: 7 },
    ]);
    expect(hello["health"]).toMatchObject({ status: "UP", checks: { db: { status: "UP" } } });
    expect(hello["perRoute"]).toMatchObject([["GET /books/{id}", { count: 1, errors: 0 }]]);
  });

  it("The events of the live page continue with finished requests, their errors, and a beat each second", async () => {
    await using server = await serve(watchedApp(), { debug: true });
    await using events = await readEvents(server.url);
    expect((await events.next("hello"))["health"]).toBeNull();
    await send(server.url, "/fails?password=hunter2");
    await send(server.url, "/nowhere");
    const seen: Record<string, unknown>[] = [];
    while (seen.length < 2) seen.push(...((await events.next("requests"))["requests"] as Record<string, unknown>[]));
    expect(seen).toMatchObject([
      { path: "/fails", status: 500, error: { name: "Error", message: "no way to postgres://app:[redacted]@db" } },
      { path: "/nowhere", pattern: null, status: 404, error: { stack: null } },
    ]);
    expect((seen[0]!["error"] as { stack: string }).stack).toContain("live-page.test.ts");
    const counted = { requests: 0, errors: 0 };
    await until(async () => {
      const { beat } = (await events.next("beat")) as { beat: Record<string, number> };
      expect(beat["rss"]).toBeGreaterThan(1e6);
      counted.requests += beat["requests"]!;
      counted.errors += beat["errors"]!;
      return counted.requests === 2;
    });
    expect(counted.errors).toBe(1);
  });

  it("The events of the live page contain no secret: no query, header, body or parameter with a secret's name", async () => {
    await using server = await serve(watchedApp(), { debug: true });
    await send(server.url, "/reset/s3cr3t/two?key=s3cr3t", { headers: { authorization: "Bearer s3cr3t" } });
    await send(server.url, "/books", { method: "POST", body: "s3cr3t", headers: { cookie: "a=s3cr3t" } });
    await using events = await readEvents(server.url);
    const hello = await events.next("hello");
    expect(hello["requests"]).toMatchObject([{ path: "/reset/[redacted]/two" }, { path: "/books" }]);
    expect(JSON.stringify(hello)).not.toContain("s3cr3t");
  });

  it("The live page keeps no more requests than allowed", async () => {
    await using server = await serve(watchedApp(), { debug: true });
    for (let i = 1; i <= 20; i++) await send(server.url, `/books/${i}`);
    await using events = await readEvents(server.url);
    const { requests } = (await events.next("hello")) as { requests: { path: string }[] };
    expect(requests.map(({ path }) => path)).toEqual(["/books/18", "/books/19", "/books/20"]);
  });

  it("The live page leaves out the console and the probes", async () => {
    const mail = feature({
      name: "mail",
      prepare: (host) => consoleSection(host, { title: "Mail", path: "/_mail", view: async () => ({ panels: [] }) }),
    });
    await using server = await serve(watchedApp().enableHealthChecks().install(mail), { debug: true });
    await send(server.url, "/_stoa");
    for (const path of ["/_mail", "/_mail/view"]) expect((await send(server.url, path)).status).toBe(200);
    await send(server.url, "/health/ready");
    await using events = await readEvents(server.url);
    expect((await events.next("hello"))["requests"]).toEqual([]);
  });

  it("The events of the live page end with the application, so that the shutdown does not wait for them", async () => {
    const server = await serve(watchedApp(), { debug: true });
    await using events = await readEvents(server.url);
    await events.next("hello");
    await server.close();
    await events.ended;
  });
});

function route(given: object): object {
  return { summary: null, tags: [], guards: [], websocket: false, deprecated: false, internal: false, ...given };
}
