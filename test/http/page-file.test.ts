import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { App } from "stoa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Wire, wire } from "../batteries/support.js";
import type { WireResponse } from "../batteries/wire.js";

const files = [
  ["/docs/swagger-ui.css", "openapi/assets/swagger-ui.css", "text/css; charset=utf-8"],
  ["/docs/swagger-ui-bundle.js", "openapi/assets/swagger-ui-bundle.js", "text/javascript; charset=utf-8"],
  ["/redoc/redoc.standalone.js", "openapi/assets/redoc.standalone.js", "text/javascript; charset=utf-8"],
  ["/graphql/playground/graphiql.css", "graphql/assets/graphiql.css", "text/css; charset=utf-8"],
  ["/graphql/playground/graphiql.js", "graphql/assets/graphiql.js", "text/javascript; charset=utf-8"],
] as const;
const [[path, name]] = files;

const published = (file: string): Promise<Buffer> => readFile(join(import.meta.dirname, `../../dist/${file}.br`));

function pages(): App {
  const app = new App().enableOpenapi();
  return app.enableGraphql({ typeDefs: "type Query { one: Int }", playground: true, introspection: true });
}

describe("files of pages over the wire", () => {
  let server: Wire;
  beforeAll(async () => {
    server = await wire(pages());
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const get = (accepted: string | undefined, more: Record<string, string> = {}, method = "GET") =>
    server.send(path, { method, headers: accepted === undefined ? more : { "accept-encoding": accepted, ...more } });

  it.each(files)("The file %s is sent as it is published, and decompressed to others", async (path, file, type) => {
    const bytes = await published(file);
    const compressed = await server.send(path, { headers: { "accept-encoding": "gzip, deflate, br, zstd" } });
    const plain = await server.send(path);
    expect(compressed.body.equals(bytes)).toBe(true);
    expect(plain.body.equals(brotliDecompressSync(bytes))).toBe(true);
    for (const response of [compressed, plain]) {
      expect(response.status).toBe(200);
      expect(response.get("content-type")).toBe(type);
      expect(response.get("content-length")).toBe(String(response.body.length));
      expect(response.get("vary")).toBe("Accept-Encoding");
      expect(response.get("cache-control")).toBe("no-cache");
      expect(response.get("x-content-type-options")).toBe("nosniff");
    }
  });

  it.each([
    ["br", "br"],
    ["BR", "br"],
    ["*", "br"],
    ["gzip;q=1.0, br;q=0.2", "br"],
    ["identity;q=0, br", "br"],
    ["gzip, deflate", undefined],
    ["gzip", undefined],
    ["br;q=0", undefined],
    ["br;q=0, *", undefined],
    ["br;q=0.000, gzip", undefined],
    ["*;q=0", undefined],
    ["identity", undefined],
    ["identity, br;q=0.5", undefined],
    ["br;q=nonsense", undefined],
    ["brotli", undefined],
    ["", undefined],
    [undefined, undefined],
  ])("Accept-Encoding %j gets the coding %j, for GET, HEAD and 304 alike", async (accepted, coding) => {
    const bytes = await published(name);
    const whole = await get(accepted);
    expect(whole.get("content-encoding")).toBe(coding);
    expect(whole.body.equals(coding === "br" ? bytes : brotliDecompressSync(bytes))).toBe(true);
    expect(whole.get("etag")).toMatch(coding === "br" ? /^"[\w-]{22}-br"$/ : /^"[\w-]{22}"$/);
    const head = await get(accepted, {}, "HEAD");
    expect([head.status, head.body.length]).toEqual([200, 0]);
    expect(fieldsOf(head)).toEqual(fieldsOf(whole));
    const unchanged = await get(accepted, { "if-none-match": whole.get("etag")! });
    expect([unchanged.status, unchanged.body.length]).toEqual([304, 0]);
    for (const field of ["etag", "vary", "cache-control"]) expect(unchanged.get(field)).toBe(whole.get(field));
    expect(unchanged.get("content-encoding")).toBeUndefined();
  });

  it("Each form has its own ETag, and a client with the other form gets the one it asked for", async () => {
    const [compressed, plain] = [await get("br"), await get("gzip")];
    expect(compressed.get("etag")).not.toBe(plain.get("etag"));
    const other = await get("gzip", { "if-none-match": compressed.get("etag")! });
    expect([other.status, other.get("etag"), other.body.equals(plain.body)]).toEqual([200, plain.get("etag"), true]);
    const back = await get("br", { "if-none-match": `${plain.get("etag")}, "x"` });
    expect([back.status, back.body.equals(compressed.body)]).toEqual([200, true]);
    expect((await get("br", { "if-none-match": "*" })).status).toBe(304);
    expect((await get("br", { "if-none-match": `W/${compressed.get("etag")}` })).status).toBe(304);
  });

  it("If-Match is answered with 412 for another form, and other methods with 405", async () => {
    const [compressed, plain] = [await get("br"), await get("gzip")];
    expect((await get("br", { "if-match": compressed.get("etag")! })).status).toBe(200);
    expect((await get("br", { "if-match": plain.get("etag")! })).status).toBe(412);
    expect((await get("br", {}, "POST")).status).toBe(405);
  });
});

describe("files of pages with compression", () => {
  it("Compression leaves Brotli files as they are, and compresses for clients with gzip alone", async () => {
    await using server = await wire(pages().enableCompression());
    const bytes = await published(name);
    const brotli = await server.send(path, { headers: { "accept-encoding": "gzip, br" } });
    expect([brotli.get("content-encoding"), brotli.body.equals(bytes)]).toEqual(["br", true]);
    const gzip = await server.send(path, { headers: { "accept-encoding": "gzip" } });
    expect(gzip.get("content-encoding")).toBe("gzip");
    expect(gunzipSync(gzip.body).equals(brotliDecompressSync(bytes))).toBe(true);
    for (const [response, accepted] of [
      [brotli, "gzip, br"],
      [gzip, "gzip"],
    ] as const) {
      expect(response.get("vary")).toBe("Accept-Encoding");
      const headers = { "accept-encoding": accepted, "if-none-match": response.get("etag")! };
      expect((await server.send(path, { headers })).status).toBe(304);
    }
  });
});

function fieldsOf(response: WireResponse): unknown {
  const names = ["content-type", "content-length", "content-encoding", "etag", "vary", "cache-control"];
  return names.map((name) => [name, response.get(name)]);
}
