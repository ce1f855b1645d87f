import { App } from "stoa";
import { testClient } from "stoa/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import { hostOf } from "../../../src/app/app.js";
import { loadIoredis } from "../../../src/engines/kvstore/load-ioredis.js";
import { service } from "../../support/service.js";
import { recordingTracer } from "../spans.js";
import { twoApps } from "./apps.js";
import { startServer, temporaryFolder } from "./redis-servers.js";
import { redisUrl, until } from "./store.js";

const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };

describe("the start of an application with a key-value store", () => {
  it("The start fails with the address and the cause if there is no server and the store is required", async () => {
    const port = await freePort();
    const url = `redis://127.0.0.1:${port}`;
    const app = new App().enableKvstore({ url, connectTimeout: 0.2, required: true });
    app.logger = silent;
    await expect(app.start()).rejects.toThrow(`127.0.0.1:${port} is unreachable: connect ECONNREFUSED`);
  });

  it("A start without the store logs what to check", async () => {
    const app = new App().enableKvstore({ url: `redis://127.0.0.1:${await freePort()}` });
    const errors: string[] = [];
    app.logger = { ...silent, error: (message: string) => void errors.push(message) };
    onTestFinished(() => app.stop());
    await app.start();
    expect(errors[0]).toMatch(
      /ECONNREFUSED.*; is the server running, and does app\.enableKvstore\(\) have its address/,
    );
  });

  it("A missing package is reported with the command that installs it, and other errors are unchanged", async () => {
    const missing = Object.assign(new Error("Cannot find package 'ioredis' imported from x"), {
      code: "ERR_MODULE_NOT_FOUND",
    });
    await expect(loadIoredis(() => Promise.reject(missing))).rejects.toThrow(/npm install ioredis@6$/);
    const other = Object.assign(new Error("Cannot find package 'denque'"), { code: "ERR_MODULE_NOT_FOUND" });
    await expect(loadIoredis(() => Promise.reject(other))).rejects.toBe(other);
  });
});

describe.skipIf(!service("redis"))("enableKvstore", () => {
  it("Each call of the key-value store is a span if an exporter is present", async () => {
    const app = new App().enableKvstore({ url: redisUrl, prefix: `test:${Math.random()}:` });
    const { tracer, spans } = recordingTracer();
    hostOf(app).tracer = tracer;
    await app.start();
    await app.kvstore.set("text", "x", { ttl: 60 });
    await expect(app.kvstore.incr("text")).rejects.toThrow("not an integer");
    const failed = { "db.response.status_code": "ERR" };
    const { hostname, port } = new URL(redisUrl!);
    const place = { "server.address": hostname, "server.port": Number(port) };
    const named = (call: string): object => ({
      "db.system.name": "redis",
      "db.namespace": "0",
      "db.operation.name": call,
      ...place,
    });
    const own = spans.filter(({ name }) => ["SET", "INCR", "INCRBY"].includes(name));
    expect(own.map(({ attributes }) => attributes)).toEqual([named("SET"), { ...named(own[1]!.name), ...failed }]);
    expect(own.map(({ error }) => error === null)).toEqual([true, false]);
    await app.kvstore.pipeline((kv) => [kv.set("text", "x"), kv.set("more", "y")]);
    await app.kvstore.transaction((kv) => [kv.set("text", "x"), kv.delete("more")]);
    expect(spans.slice(-2).map(({ name, attributes }) => [name, attributes])).toEqual([
      ["PIPELINE SET", { ...named("PIPELINE SET"), "db.operation.batch.size": 2 }],
      ["MULTI", { ...named("MULTI"), "db.operation.batch.size": 2 }],
    ]);
    await app.stop();
  });

  it("app.kvstore, request.kvstore and request.kv work, and so does the store taken before the start", async () => {
    const app = new App().enableKvstore({ url: redisUrl, prefix: `test:${Math.random()}:` });
    const early = app.kvstore;
    app.onEvent("startup", () => app.kvstore.set("greeting", "hello", { ttl: 60 }));
    app.get("/", async (request) => [await request.kv.get("greeting"), request.kv === request.kvstore]);
    await using client = testClient(app);
    expect(await (await client.get("/")).json()).toEqual(["hello", true]);
    expect(await early.get("greeting")).toBe("hello");
    expect(await early.hash("none").all()).toEqual({});
    expect(await early.delete("greeting")).toBe(1);
  });

  it("A required key-value store is part of readiness, and its calls are counted", async () => {
    const folder = await temporaryFolder();
    const port = await freePort();
    let server = await startServer(port, folder.path);
    onTestFinished(async () => {
      await server.kill();
      await folder.remove();
    });
    const app = new App().enableKvstore({ url: `redis://127.0.0.1:${port}`, required: true });
    app.enableHealthChecks({ cacheSeconds: 0 });
    app.enableMetrics();
    app.logger = silent;
    app.get("/", (request) => request.kv.incr("visits"));
    await using client = testClient(app);
    expect(await (await client.get("/")).json()).toBe(1);
    expect((await client.get("/health/ready")).status).toBe(200);
    const metrics = await (await client.get("/metrics")).text();
    expect(metrics).toContain('kvstore_calls_total{command="incrby"} 1');
    expect(metrics).toMatch(/kvstore_connections_ready 2/);
    await server.kill();
    await until(async () => (await client.get("/health/ready")).status === 503);
    expect((await client.get("/health/live")).status).toBe(200);
    expect((await client.get("/")).status).toBe(500);
    server = await startServer(port, folder.path);
    await until(async () => (await client.get("/health/ready")).status === 200);
  });

  it("Applications share the data of one key-value store", async () => {
    const [one, two] = await twoApps((app) => {
      app.get("/set", (request) => request.kv.set("a", "1").then(() => "done"));
      app.get("/get", async (request) => ({ a: await request.kv.get("a") }));
    });
    await one.get("/set");
    expect(await (await two.get("/get")).json()).toEqual({ a: "1" });
  });
});
