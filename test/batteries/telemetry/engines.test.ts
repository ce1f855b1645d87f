import { describe, expect, it } from "vitest";
import { service } from "../../support/service.js";
import { traced } from "./traced.js";

const postgres = service("postgres");
const redis = service("redis");
const client = 3;
const statusError = 2;

describe.skipIf(!postgres)("queries of the database", () => {
  it("Queries of the database are client spans below that of the request, with their errors and without their parameters", async () => {
    const { send, flush, collector } = await traced((app) => {
      app.enableDatabase(postgres!);
      app.get("/", async (request) => {
        await request.db.fetchval("select $1::text", ["secret"]);
        return request.db.transaction(async (transaction) => transaction.fetchval("select 1 as inside"));
      });
      app.get("/broken", (request) => request.db.fetchval("select no_such_column"));
    });
    expect((await send("/")).status).toBe(200);
    expect((await send("/broken")).status).toBe(500);
    await flush();
    const server = collector.spans.find(({ name }) => name === "GET /")!;
    const queries = collector.spans.filter(({ parentSpanId }) => parentSpanId === server.spanId);
    const texts = queries.map(({ attributes }) => attributes["db.query.text"]);
    expect(texts).toEqual(expect.arrayContaining(["select $1::text", "select 1 as inside"]));
    for (const query of queries) {
      expect(query).toMatchObject({ kind: client, attributes: { "db.system.name": "postgresql" } });
    }
    expect(JSON.stringify(collector.spans.map(({ attributes }) => attributes))).not.toContain("secret");
    const broken = collector.spans.find(({ attributes }) => attributes["db.query.text"] === "select no_such_column");
    expect(broken).toMatchObject({ status: { code: statusError }, attributes: { "error.type": "ProgrammingError" } });
  });
});

describe.skipIf(!redis)("calls of the key-value store", () => {
  it("Calls of the key-value store are client spans below that of the request, without their values", async () => {
    const { send, flush, collector } = await traced((app) => {
      app.enableKvstore({ url: redis!, prefix: `telemetry-${process.pid}:` });
      app.get("/", async (request) => {
        await request.kv.set("a", "secret");
        return request.kv.get("a");
      });
    });
    expect((await send("/")).text).toBe("secret");
    await flush();
    const server = collector.spans.find(({ name }) => name === "GET /")!;
    const calls = collector.spans.filter(({ parentSpanId }) => parentSpanId === server.spanId);
    expect(calls.map(({ kind, attributes }) => [kind, attributes["db.operation.name"]])).toEqual([
      [client, "set"],
      [client, "get"],
    ]);
    expect(JSON.stringify(collector.spans.map(({ attributes }) => attributes))).not.toContain("secret");
  });
});
