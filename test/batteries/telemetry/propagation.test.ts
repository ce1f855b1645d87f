import http from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../../../scripts/services/ports.mjs";
import { Baggage } from "../../../src/batteries/telemetry/propagation/baggage.js";
import { checkedTraceState } from "../../../src/batteries/telemetry/propagation/trace-state.js";
import { readTraceParent } from "../../../src/batteries/telemetry/propagation/traceparent.js";
import fc from "../../support/properties.js";
import { type TracedApp, type TracedOptions, traced } from "./traced.js";

const trace = "12345678901234567890123456789012";
const parent = "1234567890123456";

/** A service that keeps the headers of its requests. */
async function echo(): Promise<{ readonly url: string; readonly seen: http.IncomingHttpHeaders[] }> {
  const seen: http.IncomingHttpHeaders[] = [];
  const server = http.createServer((request, response) => {
    seen.push(request.headers);
    response.writeHead(Number(new URL(request.url!, "http://x").searchParams.get("status") ?? 200)).end("ok");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.closeAllConnections());
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

async function calling(options: TracedOptions = {}): Promise<TracedApp & Awaited<ReturnType<typeof echo>>> {
  const service = await echo();
  const app = await traced((made) => {
    made.get("/", async () => (await fetch(`${service.url}/items?key=secret`)).text());
    made.get("/failing", async () => (await fetch(`${service.url}/?status=503`)).status);
  }, options);
  return { ...app, ...service };
}

describe("traceparent", () => {
  // The cases of the W3C suite: https://github.com/w3c/trace-context/tree/main/test
  it.each([
    [`00-${trace}-${parent}-01`, true],
    [`00-${trace}-${parent}-00`, true],
    [`00-${trace}-${parent}-01.`, false],
    [`00-${trace}-${parent}-01-what-the-future-will-be-like`, false],
    [`cc-${trace}-${parent}-01`, true],
    [`cc-${trace}-${parent}-01-what-the-future-will-be-like`, true],
    [`cc-${trace}-${parent}-01.what-the-future-will-be-like`, false],
    [`ff-${trace}-${parent}-01`, false],
    [`.0-${trace}-${parent}-01`, false],
    [`0.-${trace}-${parent}-01`, false],
    [`000-${trace}-${parent}-01`, false],
    [`0-${trace}-${parent}-01`, false],
    [`00-${"0".repeat(32)}-${parent}-01`, false],
    [`00-.${trace.slice(1)}-${parent}-01`, false],
    [`00-${trace}3-${parent}-01`, false],
    [`00-${trace.slice(1)}-${parent}-01`, false],
    [`00-${trace}-${"0".repeat(16)}-01`, false],
    [`00-${trace}-.${parent.slice(1)}-01`, false],
    [`00-${trace}-${parent}7-01`, false],
    [`00-${trace}-${parent.slice(1)}-01`, false],
    [`00-${trace}-${parent}-.0`, false],
    [`00-${trace}-${parent}-0.`, false],
    [`00-${trace}-${parent}-001`, false],
    [`00-${trace}-${parent}-1`, false],
    [` 00-${trace}-${parent}-01\t`, true],
    [`00-${trace.replace("1", "A")}-${parent}-01`, false],
    [`00-${trace}-${parent}-01, 00-${trace}-${parent}-01`, false],
    [`cc-${trace}-${parent}-01-x, cc-${trace}-${parent}-01`, false],
    ["", false],
  ])("%j: valid is %s", (header, valid) => {
    expect(readTraceParent(header) !== null).toBe(valid);
  });

  it("Reading traceparent, tracestate and baggage never throws, whatever a client sends", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 80 }), (text) => {
        readTraceParent(text);
        expect(checkedTraceState(text)).toBeTypeOf("string");
        expect(Baggage.received(text).header).toBeTypeOf("string");
      }),
    );
  });
});

describe("tracestate", () => {
  const many = (count: number): string =>
    Array.from({ length: count }, (_, i) => `bar${String(i).padStart(2, "0")}=${i}`).join(",");
  it.each([
    ["foo=1,bar=2", "foo=1,bar=2"],
    ["foo=1, rojo=1,congo=2, baz=3", "foo=1,rojo=1,congo=2,baz=3"],
    ["", ""],
    ["foo=1, ", "foo=1"],
    [", foo=1", "foo=1"],
    ["foo=1,foo=2", "foo=1"],
    ["foo=1 \t , \t bar=2, \t baz=3", "foo=1,bar=2,baz=3"],
    ["\t foo=1 \t", "foo=1"],
    ["foo =1", ""],
    ["FOO=1", ""],
    ["foo.bar=1", ""],
    ["foo@=1,bar=2", "foo@=1,bar=2"],
    ["@foo=1,bar=2", ""],
    ["foo@@bar=1,bar=2", "foo@@bar=1,bar=2"],
    [many(32), many(32)],
    [many(33), ""],
    [`foo=1,${"z".repeat(256)}=1`, `foo=1,${"z".repeat(256)}=1`],
    [`foo=1,${"z".repeat(257)}=1`, ""],
    [`foo=${"v".repeat(256)}`, `foo=${"v".repeat(256)}`],
    [`foo=${"v".repeat(257)}`, ""],
    ["foo=bar=baz", ""],
    ["foo=,bar=3", ""],
    ["foo", ""],
  ])("%j is passed on as %j", (given, passed) => {
    expect(checkedTraceState(given)).toBe(passed);
  });
});

describe("the trace of a caller", () => {
  it("The trace of a caller continues in the request's span and in outgoing requests, with tracestate and baggage", async () => {
    const { send, flush, collector, seen } = await calling();
    await send("/", {
      headers: {
        traceparent: `00-${trace}-${parent}-01`,
        tracestate: "foo=1,bar=2",
        baggage: "tenant=a%20b;ttl=5, bad, user=7",
      },
    });
    await flush();
    const [client, server] = collector.spans;
    expect(server).toMatchObject({ traceId: trace, parentSpanId: parent, traceState: "foo=1,bar=2" });
    expect(server!.flags).toBe(0x301);
    expect(client).toMatchObject({ name: "GET", kind: 3, traceId: trace, parentSpanId: server!.spanId });
    expect(client!.flags).toBe(0x101);
    expect(seen[0]).toMatchObject({
      traceparent: `00-${trace}-${client!.spanId}-01`,
      tracestate: "foo=1,bar=2",
      baggage: "tenant=a%20b;ttl=5,user=7",
    });
  });

  it("The trace of a caller that is not sampled is not recorded, and is passed on as such", async () => {
    const { send, flush, collector, seen } = await calling();
    await send("/", { headers: { traceparent: `00-${trace}-${parent}-00`, tracestate: "foo=1" } });
    await flush();
    expect(collector.spans).toEqual([]);
    expect(seen[0]).toMatchObject({
      traceparent: expect.stringMatching(`^00-${trace}-[0-9a-f]{16}-00$`),
      tracestate: "foo=1",
    });
    expect(seen[0]!["traceparent"]).not.toContain(`-${parent}-`);
  });

  it("The trace of a caller that is sampled is recorded also at a sampling rate of 0", async () => {
    const { send, flush, collector } = await calling({ telemetry: { samplingRate: 0 } });
    await send("/", { headers: { traceparent: `00-${trace}-${parent}-01` } });
    await send("/");
    await flush();
    expect(new Set(collector.spans.map(({ traceId }) => traceId))).toEqual(new Set([trace]));
  });

  it("The trace of a caller that is not valid is replaced by a new one, without its tracestate", async () => {
    const { send, flush, collector, seen } = await calling();
    await send("/", { headers: { traceparent: `ff-${trace}-${parent}-01`, tracestate: "foo=1" } });
    await send("/", { headers: { traceparent: [`00-${trace}-${parent}-01`, `00-${trace}-${parent}-01`] } });
    await flush();
    expect(collector.spans.filter(({ traceId }) => traceId === trace)).toEqual([]);
    expect(collector.spans).toHaveLength(4);
    expect(seen[0]).not.toHaveProperty("tracestate");
  });
});

describe("a new trace", () => {
  it("A new trace is recorded at the sampling rate, with all of its spans or none", async () => {
    const { send, flush, collector } = await calling({ telemetry: { samplingRate: 0.5 } });
    for (let i = 0; i < 60; i++) await send("/");
    await flush();
    const servers = collector.spans.filter(({ kind }) => kind === 2);
    const clients = collector.spans.filter(({ kind }) => kind === 3);
    // Outside of this once in 10^9 runs.
    expect(servers.length).toBeGreaterThan(6);
    expect(servers.length).toBeLessThan(54);
    expect(clients.map(({ parentSpanId }) => parentSpanId)).toEqual(servers.map(({ spanId }) => spanId));
  });
});

describe("outgoing fetch", () => {
  it("An outgoing fetch is a client span with the attributes of the conventions, without query and password", async () => {
    const { send, flush, collector, url } = await calling();
    await send("/");
    await send("/failing");
    await flush();
    const clients = collector.spans.filter(({ kind }) => kind === 3);
    const address = { "server.address": "127.0.0.1", "server.port": Number(new URL(url).port) };
    expect(clients[0]!.attributes).toEqual({
      "http.request.method": "GET",
      "http.response.status_code": 200,
      "url.full": `${url}/items`,
      ...address,
    });
    expect(clients[1]).toMatchObject({ status: { code: 2 }, attributes: { "error.type": "503" } });
  });

  it("The span of an outgoing fetch that fails has the error", async () => {
    const closed = `http://127.0.0.1:${await freePort()}`;
    const { flush, collector, send } = await traced((app) =>
      app.get("/", () =>
        fetch(closed).then(
          () => "no",
          () => "failed",
        ),
      ),
    );
    expect((await send("/")).text).toBe("failed");
    await flush();
    const client = collector.spans.find(({ kind }) => kind === 3);
    expect(client).toMatchObject({ status: { code: 2 }, events: [{ name: "exception" }] });
  });

  it("An outgoing fetch keeps a traceparent that the caller has set", async () => {
    const service = await echo();
    const own = `00-${trace}-${parent}-01`;
    const { send } = await traced((app) =>
      app.get("/", async () => (await fetch(service.url, { headers: { TraceParent: own } })).text()),
    );
    await send("/");
    expect(service.seen[0]!["traceparent"]).toBe(own);
  });

  it("An outgoing fetch passes the trace on only to the named hosts, and is not traced if the option is false", async () => {
    const named = await calling({ telemetry: { propagateTo: ["api.example.com"] } });
    await named.send("/");
    expect(named.seen[0]).not.toHaveProperty("traceparent");
    await named.close();
    const off = await calling({ telemetry: { fetch: false } });
    await off.send("/");
    await off.flush();
    expect(off.seen[0]).not.toHaveProperty("traceparent");
    expect(off.collector.spans.map(({ kind }) => kind)).toEqual([2]);
  });
});

describe("baggage", () => {
  it("Baggage is read and extended by the application, and travels with fetch", async () => {
    const service = await echo();
    const { send } = await traced((app) =>
      app.get("/", async () => {
        const before = app.tracer.baggage;
        await app.tracer.withBaggage({ user: "ann ü", tenant: undefined }, () => fetch(service.url));
        return before;
      }),
    );
    expect(JSON.parse((await send("/", { headers: { baggage: "tenant=a,plan=b" } })).text)).toEqual({
      tenant: "a",
      plan: "b",
    });
    expect(service.seen[0]!["baggage"]).toBe("plan=b,user=ann%20%C3%BC");
  });

  it("Baggage is bounded to 64 entries and 8192 bytes", () => {
    const many = Array.from({ length: 200 }, (_, i) => `k${i}=v`).join(",");
    expect(Baggage.received(many).entries()).toHaveLength(64);
    expect(Baggage.received(`a=${"x".repeat(9000)},b=1`).header.length).toBeLessThanOrEqual(8192);
  });

  it("Baggage refuses a name that cannot be sent", () => {
    expect(() => Baggage.with(null, { "a b": "c" })).toThrow('"a b" cannot be a name in baggage');
  });
});

describe("the seam for messages", () => {
  it("The headers of a message carry the trace to the span of its consumer, which runs its handler", async () => {
    const { app, flush, collector } = await traced(() => {});
    const producer = app.tracer.start("orders send", { "messaging.system": "memory" }, { kind: "producer" });
    const headers = producer.headers();
    producer.end();
    const consumer = app.tracer.start(
      "orders process",
      {},
      { kind: "consumer", from: (name) => headers[name], links: [(name) => headers[name], () => undefined] },
    );
    await consumer.run(async () => app.tracer.span("handler", () => null));
    consumer.end();
    await flush();
    const [sent, handler, processed] = collector.spans;
    expect(sent).toMatchObject({ kind: 4, parentSpanId: null });
    expect(processed).toMatchObject({ kind: 5, traceId: sent!.traceId, parentSpanId: sent!.spanId });
    expect(processed!.links).toMatchObject([{ traceId: sent!.traceId, spanId: sent!.spanId }]);
    expect(handler).toMatchObject({ parentSpanId: processed!.spanId });
  });
});
