import {
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { App, HttpError, JwtAuth, MemorySessionStore } from "stoa";
import { feature } from "stoa/feature";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { Exchange } from "../../../src/apis/mcp/exchange.js";
import { isLong } from "../../support/long.js";
import { addEverything } from "./fixtures/everything.js";
import { call, eventsOf, request, serve, textOf } from "./support.js";

const add = (app: App): void => {
  app.tool("add", { input: z.object({ a: z.number(), b: z.number() }) }, (_, { input }) => `${input.a + input.b}`);
};

/** Shares a store of sessions, as a key-value store does. */
const shared = feature<object, [MemorySessionStore]>({
  name: "shared sessions",
  isEngine: true,
  install: (host, store) => host.share("sessions", store),
});

const needsScope = (): boolean => {
  const challenge = 'Bearer error="insufficient_scope", scope="books:write"';
  throw new HttpError(403, "needs books:write", { headers: { "WWW-Authenticate": challenge } });
};

async function allOf(response: Response): Promise<{ id: string; data: string }[]> {
  const events = [];
  for await (const event of eventsOf(response)) events.push(event);
  return events;
}

describe("messages", () => {
  it("Malformed messages get errors of JSON-RPC", async () => {
    const { post } = await serve(add);
    const cases: [unknown, number, number][] = [
      ["{", 400, -32700],
      ["", 400, -32700],
      [`${"[".repeat(5000)}${"]".repeat(5000)}`, 400, -32700],
      ['{"__proto__":{}}', 400, -32700],
      ["1", 400, -32600],
      [[], 400, -32600],
      [{ jsonrpc: "1.0", id: 1, method: "ping" }, 400, -32600],
      [{ jsonrpc: "2.0", id: null, method: "ping" }, 400, -32600],
      [{ jsonrpc: "2.0", id: { a: 1 }, method: "ping" }, 400, -32600],
      [{ jsonrpc: "2.0", id: "x".repeat(257), method: "ping" }, 400, -32600],
      [{ jsonrpc: "2.0", id: 1.5, method: "ping" }, 400, -32600],
      [{ jsonrpc: "2.0", id: 1, method: 5 }, 400, -32600],
      [{ jsonrpc: "2.0", id: 1, method: "ping", params: [1] }, 400, -32600],
      [{ jsonrpc: "2.0" }, 400, -32600],
      [request("no/such"), 200, -32601],
      [request("constructor"), 200, -32601],
      [request("tools/call", { name: "toString" }), 200, -32602],
      [request("tools/call", { name: "add", arguments: [] }), 200, -32602],
      [request("tools/call"), 200, -32602],
      [request("tools/list", { cursor: "x" }), 200, -32602],
      [request("resources/read", { uri: "no://where" }), 200, -32002],
      [request("prompts/get", { name: "none" }), 200, -32602],
      [request("completion/complete", { ref: {}, argument: {} }), 200, -32602],
      [request("completion/complete", {}), 200, -32602],
      [request("logging/setLevel", { level: "loud" }), 200, -32602],
      [request("resources/subscribe", { uri: "a:b" }), 200, -32600],
    ];
    for (const [message, status, code] of cases) {
      const response = await post(message);
      const body = (await response.json()) as { error: { code: number } };
      expect([response.status, body.error.code], JSON.stringify(message).slice(0, 80)).toEqual([status, code]);
    }
  });

  it("A message that is no JSON by its type gets 415", async () => {
    const { post } = await serve(add);
    expect((await post(request("ping"), { "Content-Type": "text/plain" })).status).toBe(415);
  });

  it("Notifications and responses get 202, also those of nobody's request", async () => {
    const { post, session } = await serve(add);
    const headers = { "Mcp-Session-Id": await session() };
    for (const given of [{}, headers]) {
      expect((await post({ jsonrpc: "2.0", method: "notifications/whatever" }, given)).status).toBe(202);
      expect(
        (await post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 9 } }, given)).status,
      ).toBe(202);
      expect((await post({ jsonrpc: "2.0", id: 5, result: {} }, given)).status).toBe(202);
      expect((await post({ jsonrpc: "2.0", id: "x", error: { message: "no" } }, given)).status).toBe(202);
    }
    expect(await (await post(request("ping"), headers)).json()).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
  });

  it("A batch is a part of the version 2025-03-26 only", async () => {
    const { post, session } = await serve(add);
    const batch = [
      call("add", { a: 1, b: 2 }, 1),
      { jsonrpc: "2.0", method: "notifications/x" },
      request("ping", {}, "two"),
    ];
    const old = await post(batch, { "Mcp-Session-Id": await session("2025-03-26") });
    expect(((await old.json()) as { id: unknown }[]).map(({ id }) => id).sort()).toEqual([1, "two"]);
    expect((await post(batch, { "Mcp-Session-Id": await session("2025-06-18") })).status).toBe(400);
    expect((await post(batch, { "MCP-Protocol-Version": "2025-11-25" })).status).toBe(400);
    expect((await post(Array(101).fill(request("ping")))).status).toBe(400);
    expect((await post([request("initialize"), request("ping", {}, 2)])).status).toBe(400);
  });

  it("A client without event streams gets its result as JSON", async () => {
    const { post } = await serve(addEverything);
    const response = await post(call("test_tool_with_logging"), { Accept: "application/json" });
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(textOf(((await response.json()) as { result: unknown }).result)).toBe("logged");
  });

  it("The version is negotiated, and an unknown one in the header refused", async () => {
    const { post } = await serve(add);
    for (const [asked, agreed] of [
      ["2025-03-26", "2025-03-26"],
      ["2025-06-18", "2025-06-18"],
      ["2025-11-25", "2025-11-25"],
      ["1999-01-01", "2025-11-25"],
    ]) {
      const response = await post(request("initialize", { protocolVersion: asked, capabilities: {} }));
      expect(await response.json()).toMatchObject({ result: { protocolVersion: agreed } });
    }
    expect((await post(request("ping"), { "MCP-Protocol-Version": "1999-01-01" })).status).toBe(400);
    expect((await post(request("ping"), { "MCP-Protocol-Version": "2025-06-18" })).status).toBe(200);
  });

  it("Two running calls of a session cannot have one id", async () => {
    let finish = (): void => {};
    const { post, session } = await serve((app) => {
      app.tool("wait", {}, () => new Promise<void>((resolve) => (finish = resolve)));
    });
    const headers = { "Mcp-Session-Id": await session() };
    const started = finish;
    const first = post(call("wait", {}, 7), headers);
    await expect.poll(() => finish).not.toBe(started);
    expect(await (await post(call("wait", {}, 7), headers)).json()).toMatchObject({ error: { code: -32600 } });
    finish();
    expect((await first).status).toBe(200);
  });
});

describe("origins", () => {
  it("Web pages of other sites are refused, those of the machine and the listed ones are not", async () => {
    const { post, url } = await serve(add, { origins: ["https://chat.example.com"] });
    const status = async (origin: string) => (await post(request("ping"), { Origin: origin })).status;
    expect(await status("https://evil.example.com")).toBe(403);
    expect(await status("null")).toBe(403);
    expect(await status("https://chat.example.com")).toBe(200);
    expect(await status("http://localhost:6274")).toBe(200);
    for (const method of ["GET", "DELETE"]) {
      const headers = { Origin: "https://evil.example.com", Accept: "text/event-stream" };
      expect((await fetch(url, { method, headers })).status).toBe(403);
    }
  });
});

describe("sessions", () => {
  it("A session is that of its user, ends by DELETE, and is unknown then", async () => {
    const { post, session, url } = await serve((app) => {
      add(app);
      app.use((request, next) => {
        request.context.user = request.headers.get("x-user") ?? "nobody";
        return next();
      });
    });
    const id = await session();
    const ping = async (headers: Record<string, string>) => (await post(request("ping"), headers)).status;
    expect(await ping({ "Mcp-Session-Id": id })).toBe(200);
    expect(await ping({ "Mcp-Session-Id": id, "x-user": "eve" })).toBe(404);
    expect(await ping({ "Mcp-Session-Id": "x".repeat(5000) })).toBe(404);
    const end = (headers: Record<string, string>) => fetch(url, { method: "DELETE", headers });
    expect((await end({})).status).toBe(400);
    expect((await end({ "Mcp-Session-Id": id, "x-user": "eve" })).status).toBe(404);
    expect((await end({ "Mcp-Session-Id": id })).status).toBe(204);
    expect(await ping({ "Mcp-Session-Id": id })).toBe(404);
  });

  it("The number of sessions in memory is bounded", async () => {
    const { post, session } = await serve(add, { maxSessions: 2 });
    const ids = [await session(), await session(), await session()];
    const statuses = await Promise.all(
      ids.map(async (id) => (await post(request("ping"), { "Mcp-Session-Id": id })).status),
    );
    expect(statuses).toEqual([404, 200, 200]);
  });

  it("A flood of new sessions neither ends the process nor grows without end", async () => {
    const store = new MemorySessionStore(1000);
    const { post, session } = await serve((app) => {
      add(app);
      app.install(shared, store);
    });
    for (let round = 0; round < (isLong ? 100 : 20); round++)
      await Promise.all(Array.from({ length: 100 }, () => session()));
    expect(store.size).toBe(1000);
    expect((await post(request("ping"), { "Mcp-Session-Id": await session() })).status).toBe(200);
  });

  it("A session ends after the time without requests that is set", async () => {
    const { post, session } = await serve(add, { sessionSecs: 1 });
    const headers = { "Mcp-Session-Id": await session() };
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect((await post(request("ping"), headers)).status).toBe(404);
  });

  it("A session that is used is kept", async () => {
    const { post, session } = await serve(add, { sessionSecs: 3600 });
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const headers = { "Mcp-Session-Id": await session() };
    const statuses: number[] = [];
    for (const minutes of [40, 40, 40, 61]) {
      vi.setSystemTime(Date.now() + minutes * 60_000);
      statuses.push((await post(request("ping"), headers)).status);
    }
    expect(statuses).toEqual([200, 200, 200, 404]);
  });

  it("The store of the application's sessions has those of MCP", async () => {
    const store = new MemorySessionStore();
    const { session } = await serve((app) => {
      add(app);
      app.install(shared, store);
    });
    await session();
    expect(store.size).toBe(1);
  });
});

describe("streams", () => {
  it("A stream needs a session and a client that accepts events", async () => {
    const { url, session } = await serve(add);
    const get = async (headers: Record<string, string>) => (await fetch(url, { headers })).status;
    expect(await get({ Accept: "text/html" })).toBe(406);
    expect(await get({ Accept: "text/event-stream" })).toBe(400);
    expect(await get({ Accept: "text/event-stream", "Mcp-Session-Id": "none" })).toBe(404);
    const head = await fetch(url, { method: "HEAD", headers: { "Mcp-Session-Id": await session() } });
    expect(head.status).toBe(405);
  });

  it("Clients that have subscribed to a resource are told of its changes", async () => {
    const { connect, app } = await serve(addEverything);
    const client = await connect();
    const other = await connect();
    const updated: string[] = [];
    client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri));
    other.setNotificationHandler(ResourceUpdatedNotificationSchema, () => void updated.push("other"));
    await client.subscribeResource({ uri: "test://watched-resource" });
    await expect
      .poll(() => {
        app.mcp.updated("test://watched-resource");
        return updated[0];
      })
      .toBe("test://watched-resource");
    await client.unsubscribeResource({ uri: "test://watched-resource" });
    await client.subscribeResource({ uri: "test://static-text" });
    const before = updated.length;
    app.mcp.updated("test://watched-resource");
    app.mcp.updated("test://static-text");
    await expect.poll(() => updated.at(-1)).toBe("test://static-text");
    expect(updated).toHaveLength(before + 1);
    await expect(client.subscribeResource({ uri: "no://such" })).rejects.toThrow("there is no such resource");
  });

  it("A session can subscribe to so many resources and no more", async () => {
    const { connect } = await serve(addEverything);
    const client = await connect();
    for (let id = 0; id < 100; id++) await client.subscribeResource({ uri: `test://template/${id}/data` });
    await expect(client.subscribeResource({ uri: "test://template/x/data" })).rejects.toThrow("100 resources");
  });

  it("A new stream of a session takes the place of the old one", async () => {
    const { url, session } = await serve(add);
    const headers = { Accept: "text/event-stream", "Mcp-Session-Id": await session() };
    const first = await fetch(url, { headers });
    const second = await fetch(url, { headers });
    expect(await first.text()).toBe("");
    await second.body!.cancel();
  });

  it("The stream of a session that is ended ends", async () => {
    const { session, url } = await serve(add);
    const headers = { "Mcp-Session-Id": await session(), Accept: "text/event-stream" };
    const stream = eventsOf(await fetch(url, { headers }));
    expect((await fetch(url, { method: "DELETE", headers })).status).toBe(204);
    expect((await stream.next()).done).toBe(true);
  });

  it("Notifications wait for a client that does not read, up to a number", async () => {
    const { app, post, session, url } = await serve((given) => {
      given.resource("a:b", {}, () => "");
      given.resource("c:d", {}, () => "");
    });
    const slow = { "Mcp-Session-Id": await session(), Accept: "text/event-stream" };
    const quick = { "Mcp-Session-Id": await session(), Accept: "text/event-stream" };
    for (const uri of ["a:b", "c:d"]) await post(request("resources/subscribe", { uri }), slow);
    await post(request("resources/subscribe", { uri: "c:d" }), quick);
    const unread = await app.fetch(new Request(url, { headers: slow }));
    const last = eventsOf(await fetch(url, { headers: quick }));
    for (let count = 0; count < 3000; count++) app.mcp.updated("a:b");
    app.mcp.updated("c:d");
    // The one that reads has the last: so has the one that does not.
    expect((await last.next()).value!.data).toContain("c:d");
    let seen = 0;
    for await (const { data } of eventsOf(unread)) {
      seen++;
      if (data.includes("c:d")) break;
    }
    expect(seen).toBeGreaterThan(900);
    expect(seen).toBeLessThan(1100);
    await last.return(undefined);
  });

  it("The answer of another session to a question is not taken", async () => {
    const { post, session } = await serve((app) => {
      app.tool("ask", {}, async ({ mcp }) => (await mcp.elicit("Sure?", {})).action);
    });
    const [own, other] = [{ "Mcp-Session-Id": await session() }, { "Mcp-Session-Id": await session() }];
    const stream = eventsOf(await post(call("ask"), own));
    await stream.next();
    const { id } = JSON.parse((await stream.next()).value!.data) as { id: string };
    await post({ jsonrpc: "2.0", id, result: { action: "accept" } }, other);
    await post({ jsonrpc: "2.0", id, result: { action: "decline" } }, own);
    expect((await stream.next()).value!.data).toContain('"decline"');
  });

  it("A client of an earlier version of the application learns that the lists have changed", async () => {
    const store = new MemorySessionStore();
    const first = await serve((app) => {
      add(app);
      app.install(shared, store);
    });
    const id = await first.session();
    await first.close();
    const { url } = await serve((app) => {
      add(app);
      app.tool("more", {}, () => "more");
      app.install(shared, store);
    });
    const methods: string[] = [];
    const stream = await fetch(url, { headers: { Accept: "text/event-stream", "Mcp-Session-Id": id } });
    for await (const { data } of eventsOf(stream)) {
      methods.push((JSON.parse(data) as { method: string }).method);
      if (methods.length === 3) break;
    }
    expect(methods).toContain(ToolListChangedNotificationSchema.shape.method.value);
  });

  it("A client that was disconnected gets the rest of its call when it comes back", async () => {
    let finish = (): void => {};
    let signal: AbortSignal | undefined;
    const { post, session, url } = await serve((app) => {
      app.tool("long", {}, async (request) => {
        signal = request.signal;
        request.mcp.log("info", "started");
        await new Promise<void>((resolve) => (finish = resolve));
        request.mcp.log("info", "x".repeat(100_000));
        return "finished";
      });
    });
    const headers = { "Mcp-Session-Id": await session() };
    const stream = eventsOf(await post(call("long"), headers));
    expect(await stream.next()).toMatchObject({ value: { data: "" } });
    const { id, data } = (await stream.next()).value!;
    expect(data).toContain('"started"');
    await stream.return(undefined);
    const resumed = eventsOf(
      await fetch(url, { headers: { ...headers, Accept: "text/event-stream", "Last-Event-ID": id } }),
    );
    finish();
    expect((await resumed.next()).value!.data).toContain("xxx");
    const last = (await resumed.next()).value!;
    expect(JSON.parse(last.data)).toMatchObject({ id: 1, result: { content: [{ text: "finished" }] } });
    expect((await resumed.next()).done).toBe(true);
    expect(signal!.aborted).toBe(false);
    const again = eventsOf(
      await fetch(url, { headers: { ...headers, Accept: "text/event-stream", "Last-Event-ID": id } }),
    );
    expect((await again.next()).value!.data).toContain("xxx");
    await again.return(undefined);
  });

  it("All messages that are kept reach a client that comes back, however many and large", async () => {
    let isOver = false;
    const { post, session, url } = await serve((app) => {
      app.tool("talk", {}, async ({ mcp }) => {
        mcp.closeStream();
        for (let count = 0; count < 500; count++) mcp.log("info", count);
        mcp.log("info", "x".repeat(1_000_000));
        isOver = true;
        return "said";
      });
    });
    const headers = { "Mcp-Session-Id": await session() };
    const { id } = (await allOf(await post(call("talk"), headers)))[0]!;
    await expect.poll(() => isOver).toBe(true);
    const rest = await allOf(
      await fetch(url, { headers: { ...headers, Accept: "text/event-stream", "Last-Event-ID": id } }),
    );
    expect(rest.map((event) => Number(event.id.split(".")[1]))).toEqual(Array.from({ length: 502 }, (_, n) => n + 1));
    expect(JSON.parse(rest.at(-1)!.data)).toMatchObject({ result: { content: [{ text: "said" }] } });
  });

  it("A stream of a call that nobody has any more ends, and that of another session stays where it is", async () => {
    let finish = (): void => {};
    const { post, session, url } = await serve(
      (app) => {
        app.tool("long", {}, async ({ mcp }) => {
          mcp.log("info", "started");
          await new Promise<void>((resolve) => (finish = resolve));
          return "finished";
        });
      },
      { resumeSecs: 0.5 },
    );
    const stream = eventsOf(await post(call("long"), { "Mcp-Session-Id": await session() }));
    await stream.next();
    const { id } = (await stream.next()).value!;
    const headers = { "Mcp-Session-Id": await session(), Accept: "text/event-stream" };
    for (const last of [id, `${crypto.randomUUID()}.0`]) {
      const response = await fetch(url, { headers: { ...headers, "Last-Event-ID": last } });
      expect(await allOf(response)).toEqual([]);
    }
    finish();
    expect((await stream.next()).value!.data).toContain("finished");
  });

  it("The messages of a call that are kept have a bound in characters", () => {
    const data = { version: "2025-11-25", can: [], user: "", lists: "", level: "info", uris: [] } as const;
    const relay = vi.fn();
    const parts = { calls: 1, isBatch: false, canStream: true, resumeMs: 1000, relay, abandon() {}, done() {} };
    const exchange = new Exchange({ ...parts, session: { id: "one", data } });
    for (let count = 0; count < 10; count++) exchange.send("x".repeat(1024 * 1024));
    exchange.resumed(-1);
    expect(relay.mock.calls.map(([message]) => (message as { number: number }).number)).toEqual([7, 8, 9, 10]);
    exchange.settle(null);
  });

  it("The calls of a client that has come back go on for as long as it says so", () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const data = { version: "2025-11-25", can: [], user: "", lists: "", level: "info", uris: [] } as const;
    const [relay, abandon] = [vi.fn(), vi.fn()];
    const parts = { calls: 1, isBatch: false, canStream: true, resumeMs: 1000, relay, abandon, done() {} };
    const exchange = new Exchange({ ...parts, session: { id: "one", data } });
    exchange.send("first");
    exchange.detach();
    expect(relay).not.toHaveBeenCalled();
    for (let count = 0; count < 5; count++) {
      vi.advanceTimersByTime(900);
      exchange.resumed(0);
    }
    expect(abandon).not.toHaveBeenCalled();
    exchange.resumed(1);
    expect(relay.mock.calls.slice(-2)).toEqual([
      [{ number: 1, text: "first", isLast: false }],
      [{ number: 1, text: "", isLast: false }],
    ]);
    vi.advanceTimersByTime(1001);
    expect(abandon).toHaveBeenCalledOnce();
  });

  it("A batch of large replies of one client does not cut off the others", async () => {
    const { app, post, session, url } = await serve((given) => {
      given.resource("a:b", {}, () => "");
    });
    const own = { "Mcp-Session-Id": await session() };
    await post(request("resources/subscribe", { uri: "a:b" }), own);
    const stream = eventsOf(await fetch(url, { headers: { ...own, Accept: "text/event-stream" } }));
    const batch = Array.from({ length: 100 }, (_, n) => ({ jsonrpc: "2.0", id: `${n}`, result: "x".repeat(9000) }));
    expect((await post(batch, { "Mcp-Session-Id": await session("2025-03-26") })).status).toBe(202);
    app.mcp.updated("a:b");
    expect((await stream.next()).value!.data).toContain("resources/updated");
    await stream.return(undefined);
  });

  it("The call of a client that does not come back is aborted", async () => {
    let signal: AbortSignal | undefined;
    const { post, session } = await serve(
      (app) => {
        app.tool("long", { timeout: 0 }, (request) => {
          signal = request.signal;
          request.mcp.log("info", "started");
          return new Promise(() => {});
        });
      },
      { resumeSecs: 0.01 },
    );
    const stream = eventsOf(await post(call("long"), { "Mcp-Session-Id": await session() }));
    await stream.next();
    await stream.return(undefined);
    await expect.poll(() => signal!.aborted).toBe(true);
  });

  it("A call without a stream is aborted when its client leaves", async () => {
    let signal: AbortSignal | undefined;
    const { url } = await serve((app) => {
      app.tool("wait", { timeout: 0 }, (request) => {
        signal = request.signal;
        return new Promise(() => {});
      });
    });
    const leave = new AbortController();
    const calling = fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
      body: JSON.stringify(call("wait")),
      signal: leave.signal,
    });
    calling.catch(() => {});
    await expect.poll(() => signal).toBeDefined();
    leave.abort();
    await expect.poll(() => signal!.aborted).toBe(true);
  });

  it("A client that does not read its stream costs a bounded number of messages", async () => {
    const { post, session } = await serve((app) => {
      app.tool("talk", {}, async ({ mcp }) => {
        for (let count = 0; count < 20_000; count++) mcp.log("info", `message ${count}`);
        return "said";
      });
    });
    const seen: string[] = [];
    for await (const { data } of eventsOf(await post(call("talk"), { "Mcp-Session-Id": await session() })))
      seen.push(data);
    expect(seen.length).toBeLessThan(2000);
    expect(JSON.parse(seen.at(-1)!)).toMatchObject({ id: 1, result: { content: [{ text: "said" }] } });
  });

  it("A long call without a message becomes a stream, so that proxies see a heartbeat", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const settings = { session: null, calls: 1, isBatch: false, canStream: true, resumeMs: 0 };
    const nothing = { relay() {}, abandon() {}, done() {} };
    const exchange = new Exchange({ ...settings, ...nothing });
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await exchange.response).type).toBe("text/event-stream");
    const silent = new Exchange({ ...settings, ...nothing, canStream: false });
    await vi.advanceTimersByTimeAsync(10_000);
    silent.settle("{}");
    expect((await silent.response).type).toBe("application/json");
  });

  it("A flood of cancelled calls leaves nothing behind", async () => {
    let running = 0;
    const { post, session } = await serve((app) => {
      app.tool("wait", { timeout: 0 }, ({ signal }) => {
        running++;
        return new Promise((resolve) =>
          signal.addEventListener("abort", () => {
            running--;
            resolve("late");
          }),
        );
      });
    });
    const headers = { "Mcp-Session-Id": await session() };
    const calls = Array.from({ length: 200 }, (_, id) => post(call("wait", {}, id), headers));
    await expect.poll(() => running).toBe(200);
    for (let id = 0; id < 200; id++) {
      await post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } }, headers);
    }
    expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([202]));
    expect(running).toBe(0);
    const again = post(call("wait", {}, 1), headers);
    await expect.poll(() => running).toBe(1);
    await post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }, headers);
    await again;
  });
});

describe("OAuth", () => {
  const key = "a secret of at least thirty-two bytes";
  const oauth = {
    authorizationServers: ["https://auth.example.com"],
    scopes: ["books:read"],
    resource: "https://api.example.com/mcp",
  };

  it("A client without a token learns where it gets one", async () => {
    const { post, url } = await serve(
      (app) => {
        add(app);
        app.use(new JwtAuth({ secret: key, audience: oauth.resource }));
      },
      { oauth },
    );
    const refused = await post(request("ping"));
    expect(refused.status).toBe(401);
    const place = "https://api.example.com/.well-known/oauth-protected-resource/mcp";
    expect(refused.headers.get("www-authenticate")).toContain(`resource_metadata="${place}", scope="books:read"`);
    for (const path of ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"]) {
      expect(await (await fetch(new URL(path, url))).json()).toEqual({
        resource: oauth.resource,
        authorization_servers: oauth.authorizationServers,
        bearer_methods_supported: ["header"],
        scopes_supported: ["books:read"],
      });
    }
  });

  it("Without the option the resource is the address of the request", async () => {
    const { url } = await serve(add, { oauth: { authorizationServers: ["https://auth.example.com"] } });
    const metadata = await (await fetch(new URL("/.well-known/oauth-protected-resource", url))).json();
    expect(metadata).toEqual({
      resource: url,
      authorization_servers: ["https://auth.example.com"],
      bearer_methods_supported: ["header"],
    });
  });

  it("A tool that needs more rights says so to the HTTP side of the client", async () => {
    const { post } = await serve((app) => {
      app.tool("write", { guards: [needsScope] }, () => "written");
    });
    const response = await post(call("write"));
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toBe('Bearer error="insufficient_scope", scope="books:write"');
  });
});

describe("requests of the official client", () => {
  it("Resources and prompts are listed, read and completed", async () => {
    const { connect } = await serve(addEverything);
    const client = await connect();
    expect((await client.listResources()).resources.map(({ name }) => name)).toEqual(["text", "binary", "watched"]);
    expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([
      { uriTemplate: "test://template/{id}/data" },
    ]);
    const read = async (uri: string) => (await client.readResource({ uri })).contents;
    expect(await read("test://static-binary")).toMatchObject([{ mimeType: "image/png", blob: expect.any(String) }]);
    const [data] = (await read("test://template/a%2Fb/data")) as { text: string }[];
    expect(JSON.parse(data!.text)).toMatchObject({ id: "a/b" });
    const completed = await client.complete({
      ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
      argument: { name: "arg1", value: "par" },
    });
    expect(completed.completion).toEqual({ values: ["paris", "park", "party"], total: 3, hasMore: false });
    const nothing = await client.complete({
      ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
      argument: { name: "constructor", value: "" },
    });
    expect(nothing.completion.values).toEqual([]);
    await expect(client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "x" } })).rejects.toThrow(
      /arg2/,
    );
  });

  it("The endpoint works without a session, and over the web interface", async () => {
    const app = new App();
    app.enableMcp();
    add(app);
    const response = await app.fetch(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(call("add", { a: 1, b: 2 })),
      }),
    );
    expect(textOf(((await response.json()) as { result: unknown }).result)).toBe("3");
    await app.stop();
  });
});
