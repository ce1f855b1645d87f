import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { App, Response } from "stoa";
import { serve } from "stoa/testing";
import { afterAll, describe, expect, it } from "vitest";

const app = new App();
const limit = 300_000;
app.post("/plain", (request) => request.json());
app.post("/plain/stream", { stream: true }, async (request) => String(await sizeOf(request.stream())));
app.post("/packed", { decompress: true, bodyLimit: limit }, (request) => request.json());
app.post("/packed/size", { decompress: true, bodyLimit: limit }, (request) => String(request.bytes().length));
app.post("/packed/stream", { decompress: true, stream: true, bodyLimit: limit }, async (request) =>
  String(await sizeOf(request.stream())),
);
app.post("/packed/form", { decompress: true }, (request) => Response.text(String(request.form().get("a"))));
app.post("/packed/gzip", { decompress: { encodings: ["gzip"], maxRatio: 10 } }, (request) =>
  String(request.bytes().length),
);

const server = serve(app);
afterAll(async () => (await server).close());

async function sizeOf(stream: AsyncIterable<Uint8Array>): Promise<number> {
  let size = 0;
  for await (const piece of stream) size += piece.length;
  return size;
}

async function post(path: string, body: Uint8Array, coding: string, chunked = false): Promise<globalThis.Response> {
  const { url } = await server;
  const stream = () =>
    new ReadableStream({
      start(controller) {
        for (let i = 0; i < body.length; i += 100) controller.enqueue(body.slice(i, i + 100));
        controller.close();
      },
    });
  return fetch(url + path, {
    method: "POST",
    headers: { "Content-Encoding": coding, "Content-Type": "application/json" },
    body: chunked ? stream() : new Uint8Array(body),
    ...(chunked && { duplex: "half" }),
  } as RequestInit);
}

const value = { name: "Ada", words: "word ".repeat(100) };
const json = Buffer.from(JSON.stringify(value));
const quickBrotli = (bytes: Buffer): Buffer =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
const codings = [
  ["gzip", gzipSync],
  ["x-gzip", gzipSync],
  ["deflate", deflateSync],
  ["BR", quickBrotli],
] as const;
/** Bytes that a ratio of 100 allows, and not more. */
const zeros = (size: number): Buffer => Buffer.alloc(size);

describe("a request body with a Content-Encoding", () => {
  it.each(["/plain", "/plain/stream"])(
    "An encoded request body gets 415 at %s, with the codings that are accepted",
    async (path) => {
      const response = await post(path, gzipSync(json), "gzip");
      expect(response.status).toBe(415);
      expect(response.headers.get("Accept-Encoding")).toBe("identity");
      expect((await post(path, json, "identity")).status).toBe(200);
    },
  );

  it.each(codings)(
    "A request body in %s is decoded where a route asks for it, whole or in pieces",
    async (coding, encode) => {
      for (const chunked of [false, true]) {
        const response = await post("/packed", encode(json), coding, chunked);
        expect(await response.json()).toEqual(value);
        expect(await (await post("/packed/stream", encode(json), coding, chunked)).text()).toBe(String(json.length));
      }
    },
  );

  it("A request body can be plain where a route decodes", async () => {
    expect(await (await post("/packed", json, "identity")).json()).toEqual(value);
  });

  it.each(["gzip, gzip", "gzip, br", "zstd", "compress", "gzip;q=1", "*"])(
    "A request body whose Content-Encoding is %s is refused with 415",
    async (coding) => {
      const response = await post("/packed", gzipSync(gzipSync(json)), coding);
      expect(response.status).toBe(415);
      expect(response.headers.get("Accept-Encoding")).toBe("gzip, deflate, br");
    },
  );

  it("A request body is refused with 415 if the route does not name its coding", async () => {
    expect((await post("/packed/gzip", gzipSync(json), "gzip")).status).toBe(200);
    const response = await post("/packed/gzip", brotliCompressSync(json), "br");
    expect(response.status).toBe(415);
    expect(response.headers.get("Accept-Encoding")).toBe("gzip");
  });

  it.each(codings)(
    "A request body in %s that is larger than the limit when decoded gets 413",
    async (coding, encode) => {
      for (const path of ["/packed/size", "/packed/stream"]) {
        // Random bytes: the ratio is one.
        const large = Buffer.from(Array.from({ length: limit + 1 }, (_, i) => (i * i * 2_654_435_761) >>> 24));
        expect((await post(path, encode(large), coding)).status, path).toBe(413);
        expect((await post(path, encode(large.subarray(0, 250_000)), coding)).status, path).toBe(200);
      }
    },
  );

  it.each(codings)("A request body in %s that is a bomb gets 413", async (coding, encode) => {
    const bomb = encode(zeros(20_000_000));
    for (const path of ["/packed/size", "/packed/stream", "/packed/form"]) {
      const responses = await Promise.all(Array.from({ length: 10 }, () => post(path, bomb, coding)));
      for (const { status } of responses) expect(status, path).toBe(413);
    }
  });

  it("A request body is refused by its ratio before it reaches the limit, and a small one is not", async () => {
    const body = gzipSync(zeros(200_000));
    expect(200_000 / body.length).toBeGreaterThan(100);
    expect((await post("/packed/size", body, "gzip")).status).toBe(413);
    expect(await (await post("/packed/size", gzipSync(zeros(65_536)), "gzip")).text()).toBe("65536");
  });

  it.each([
    ["is not encoded at all", "gzip", json],
    ["is cut off", "gzip", gzipSync(json).subarray(0, -5)],
    ["is empty but for its header", "gzip", gzipSync(json).subarray(0, 10)],
    ["has a wrong checksum", "gzip", Buffer.concat([gzipSync(json).subarray(0, -8), Buffer.alloc(8)])],
    ["has bytes behind its end", "gzip", Buffer.concat([gzipSync(json), Buffer.alloc(5)])],
    ["has bytes behind its end", "deflate", Buffer.concat([deflateSync(json), Buffer.from("{}")])],
    ["has bytes behind its end", "br", Buffer.concat([brotliCompressSync(json), Buffer.from("{}")])],
    ["is raw deflate", "deflate", deflateRawSync(json)],
    ["is random", "br", Buffer.from("no brotli at all")],
  ])("An encoded request body that %s gets 400 (%s)", async (_name, coding, body) => {
    for (const path of ["/packed", "/packed/stream"]) {
      for (const chunked of [false, true]) expect((await post(path, body, coding, chunked)).status, path).toBe(400);
    }
  });

  it("An encoded request body is read as a form too", async () => {
    const { url } = await server;
    const response = await fetch(`${url}/packed/form`, {
      method: "POST",
      headers: { "Content-Encoding": "gzip", "Content-Type": "application/x-www-form-urlencoded" },
      body: new Uint8Array(gzipSync("a=b%20c")),
    });
    expect(await response.text()).toBe("b c");
  });

  it("An encoded request body is decoded by app.request() too", async () => {
    const headers = { "Content-Encoding": "gzip" };
    const response = await app.request("/packed", { method: "POST", headers, body: new Uint8Array(gzipSync(json)) });
    expect(await response.json()).toEqual(value);
  });
});

describe("the route option decompress", () => {
  it.each([
    ["yes", /option 'decompress' in .* must be true, false or an object/],
    [{ encodings: ["zip"] }, /option 'encodings' in decompress must be a list of which each item is one of/],
    [{ ratio: 1 }, /unknown option 'ratio' in decompress/],
    [{ max_ratio: 0 }, /option 'max_ratio' in decompress must be a number/],
  ])("The route option decompress refuses %j", (decompress, message) => {
    expect(() => new App().post("/", { decompress: decompress as never }, () => "")).toThrow(message);
  });
});
