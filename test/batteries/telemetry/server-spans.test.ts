import { HttpError, Response } from "stoa";
import { describe, expect, it } from "vitest";
import { Client } from "../../websocket/client.js";
import { traced } from "./traced.js";

const statusError = 2;
const internal = 1;

describe("the span of a request", () => {
  it("The span of a request is named by method and route template, and has the attributes of the stable HTTP conventions", async () => {
    const { send, flush, collector, url } = await traced((app) => app.get("/books/{id}", () => ({ ok: true })));
    await send("/books/7?token=secret", { headers: { "user-agent": "a-browser/1.0" } });
    await flush();
    const [span] = collector.spans;
    expect(collector.spans).toHaveLength(1);
    expect(span).toMatchObject({ name: "GET /books/{id}", kind: 2, parentSpanId: null, scope: "stoa" });
    expect(span!.status).toBeUndefined();
    expect(span!.attributes).toEqual({
      "http.request.method": "GET",
      "http.route": "/books/{id}",
      "http.response.status_code": 200,
      "url.path": "/books/7",
      "url.scheme": "http",
      "server.address": "127.0.0.1",
      "server.port": Number(new URL(url).port),
      "client.address": "127.0.0.1",
      "network.protocol.version": "1.1",
      "user_agent.original": "a-browser/1.0",
    });
    expect(span!.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(span!.end).toBeGreaterThan(span!.start);
    expect(Math.abs(Number(span!.start / 1_000_000n) - Date.now())).toBeLessThan(60_000);
  });

  it("The span of a request has the query if recordQuery is true", async () => {
    const { send, flush, collector } = await traced((app) => app.get("/", () => "x"), {
      telemetry: { recordQuery: true },
    });
    await send("/?a=1");
    await flush();
    expect(collector.spans[0]!.attributes["url.query"]).toBe("a=1");
  });

  it("The span of a path without a route has the method alone as its name, whatever the path is", async () => {
    const { send, flush, collector } = await traced((app) => app.get("/", () => "x"));
    await send("/wp-admin/1234");
    await flush();
    expect(collector.spans[0]).toMatchObject({ name: "GET" });
    expect(collector.spans[0]!.attributes).toMatchObject({
      "http.response.status_code": 404,
      "url.path": "/wp-admin/1234",
    });
    expect(collector.spans[0]!.attributes).not.toHaveProperty("http.route");
    expect(collector.spans[0]!.status).toBeUndefined();
  });

  it("The span of an error has its class, message and stack, the status error, and no secret of a URL", async () => {
    class Broken extends Error {}
    const { send, flush, collector } = await traced((app) => {
      app.get("/throws", () => {
        throw new Broken("no reply from postgres://app:hunter2@db");
      });
      app.get("/rejects", async () => {
        throw new HttpError(503, "later");
      });
      app.get("/refuses", () => {
        throw new HttpError(404, "not here");
      });
      app.get("/says", () => Response.text("no", 502));
    });
    for (const path of ["/throws", "/rejects", "/refuses", "/says"]) await send(path);
    await flush();
    const [throws, rejects, refuses, says] = collector.spans;
    expect(throws!.status).toEqual({ code: statusError });
    expect(throws!.attributes["error.type"]).toBe("Broken");
    expect(throws!.events).toEqual([
      {
        name: "exception",
        attributes: {
          "exception.type": "Broken",
          "exception.message": "no reply from postgres://app:[redacted]@db",
          "exception.stacktrace": expect.stringContaining("server-spans.test.ts"),
        },
      },
    ]);
    expect(rejects).toMatchObject({ status: { code: statusError }, events: [{ name: "exception" }] });
    expect(refuses!.status).toBeUndefined();
    expect(refuses!.events).toEqual([]);
    expect(says!.status).toEqual({ code: statusError });
    expect(says!.attributes["error.type"]).toBe("502");
  });

  it("The span of a method that the conventions do not know is named HTTP", async () => {
    const { send, flush, collector } = await traced((app) => app.route("/x", { methods: ["PROPFIND"] }, () => "x"));
    await send("/x", { method: "PROPFIND" });
    await flush();
    expect(collector.spans[0]).toMatchObject({
      name: "HTTP /x",
      attributes: { "http.request.method": "_OTHER", "http.request.method_original": "PROPFIND" },
    });
  });

  it("The span of a request ends when a streamed body has been sent", async () => {
    let resolve = (): void => {};
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    const { send, flush, collector } = await traced((app) => {
      app.get("/stream", () => {
        async function* body(): AsyncGenerator<string> {
          yield "a";
          await promise;
          yield "b";
        }
        return Response.stream(body());
      });
      app.get("/other", () => "x");
    });
    const streaming = send("/stream");
    await send("/other");
    await flush();
    expect(collector.spans.map(({ name }) => name)).toEqual(["GET /other"]);
    resolve();
    expect((await streaming).text).toBe("ab");
    await expect
      .poll(async () => {
        await flush();
        return collector.spans.map(({ name }) => name);
      })
      .toEqual(["GET /other", "GET /stream"]);
  });

  it("The span of a WebSocket ends with the handshake", async () => {
    const { url, flush, collector } = await traced((app) =>
      app.websocket("/chat", async (socket) => {
        for await (const message of socket) await socket.sendText(message.text ?? "");
      }),
    );
    using _client = await Client.connect(`${url.replace("http", "ws")}/chat`);
    await expect
      .poll(async () => {
        await flush();
        return collector.spans[0]?.attributes;
      })
      .toMatchObject({ "http.response.status_code": 101, "http.route": "/chat" });
  });

  it("A handler adds attributes, events and another name to request.span", async () => {
    const { send, flush, collector } = await traced((app) =>
      app.get("/", (request) => {
        request.span.set("tenant", "a").set("tenant", "b").event("cache miss", { key: "k" }).rename("home");
        return { trace: request.span.traceId, span: request.span.spanId };
      }),
    );
    const { trace, span: spanId } = JSON.parse((await send("/")).text);
    await flush();
    const [span] = collector.spans;
    expect(span).toMatchObject({ name: "home", traceId: trace, spanId, attributes: { tenant: "b" } });
    expect(span!.events).toEqual([{ name: "cache miss", attributes: { key: "k" } }]);
    expect(span!.attributes["http.route"]).toBe("/");
  });

  it("The span of a request is the parent of spans that the application makes, also across awaits", async () => {
    const { send, flush, collector } = await traced((app) =>
      app.get("/", async () => {
        await new Promise((resolve) => setImmediate(resolve));
        return app.tracer.span("price", { sku: "x" }, async () => {
          await null;
          return app.tracer.span("discount", () => 3);
        });
      }),
    );
    expect((await send("/")).text).toBe("3");
    await flush();
    const [discount, price, server] = collector.spans;
    expect(price).toMatchObject({ name: "price", kind: internal, parentSpanId: server!.spanId });
    expect(discount).toMatchObject({ parentSpanId: price!.spanId, traceId: server!.traceId });
  });

  it("Operators' routes and routes with `telemetry: false` are not recorded, nor the spans below them", async () => {
    const { send, flush, collector } = await traced((app) => {
      app.enableHealthChecks();
      app.healthCheck("work", () => app.tracer.span("check", () => ({ status: "UP" as const })));
      app.get("/quiet", { telemetry: false }, () => app.tracer.span("work", () => "x"));
      app.get("/heard", () => "x");
    });
    expect((await send("/health")).status).toBe(200);
    await send("/quiet");
    await send("/heard");
    await flush();
    expect(collector.spans.map(({ name }) => name)).toEqual(["GET /heard"]);
  });

  it("The span of a request has the scheme, host and client that a trusted proxy reports", async () => {
    const { send, flush, collector } = await traced((app) => app.trustProxy(["loopback"]).get("/", () => "x"));
    const headers = { "x-forwarded-for": "203.0.113.9", "x-forwarded-proto": "https", "x-forwarded-host": "shop.test" };
    await send("/", { headers });
    await flush();
    expect(collector.spans[0]!.attributes).toMatchObject({
      "url.scheme": "https",
      "server.address": "shop.test",
      "client.address": "203.0.113.9",
      "network.peer.address": "127.0.0.1",
    });
  });
});

describe("spans of the application", () => {
  it("A span of the application records the error of its function and throws it again", async () => {
    const { app, flush, collector } = await traced(() => {});
    expect(() =>
      app.tracer.span("sync", () => {
        throw new TypeError("bad");
      }),
    ).toThrow("bad");
    await expect(app.tracer.span("async", async () => Promise.reject(new RangeError("far")))).rejects.toThrow("far");
    await flush();
    expect(collector.spans.map(({ name, status, attributes }) => [name, status, attributes["error.type"]])).toEqual([
      ["sync", { code: statusError, message: "bad" }, "TypeError"],
      ["async", { code: statusError, message: "far" }, "RangeError"],
    ]);
  });

  it("A span holds attributes of all kinds up to its limits, and ignores objects, null and undefined", async () => {
    const { app, flush, collector } = await traced(() => {});
    const span = app.tracer.start("values", {
      text: "aé\u{1f600}",
      lone: "\ud800",
      long: "x".repeat(100_000),
      yes: true,
      int: 42,
      negative: -7,
      big: 2 ** 53,
      fraction: 1.5,
      nan: Number.NaN,
      list: ["a", "b"],
      numbers: [1, 2.5],
      none: undefined,
    });
    span.set("object", { a: 1 } as never).set("null", null as never);
    for (let i = 0; i < 200; i++) span.set(`many.${i}`, i);
    for (let i = 0; i < 200; i++) span.event(`e${i}`);
    span.end();
    span.set("late", 1);
    span.end(new Error("twice"));
    await flush();
    expect(collector.spans).toHaveLength(1);
    const [{ attributes, raw, events, status }] = collector.spans as [(typeof collector.spans)[0]];
    expect(attributes).toMatchObject({
      text: "aé\u{1f600}",
      lone: "\ufffd",
      long: "x".repeat(16_384),
      yes: true,
      int: 42,
      negative: -7,
      big: 2 ** 53,
      fraction: 1.5,
      nan: Number.NaN,
      list: ["a", "b"],
      numbers: [1, 2.5],
    });
    expect(Object.keys(attributes)).toHaveLength(128);
    expect(raw.droppedAttributes).toBe(200 - 128 + 11);
    expect(events).toHaveLength(128);
    expect(raw.droppedEvents).toBe(72);
    expect(attributes).not.toHaveProperty("object");
    expect(status).toBeUndefined();
  });

  it("Spans are not recorded and have no headers without enableTelemetry()", async () => {
    const { App } = await import("stoa");
    const app = new App();
    app.get("/", (request) => {
      request.span.set("a", 1).end();
      return app.tracer.span("work", { a: 1 }, (span) => ({ recording: span.recording, headers: span.headers() }));
    });
    expect(await (await app.request("/")).json()).toEqual({ recording: false, headers: {} });
    expect(app.tracer.current).toBeNull();
    expect(app.tracer.withBaggage({ a: "b" }, () => app.tracer.baggage)).toEqual({});
    await app.tracer.flush();
    await app.stop();
  });
});
