import { once } from "node:events";
import http from "node:http";
import { brotliDecompressSync, createGunzip, gunzipSync } from "node:zlib";
import { App, type CompressionOptions, Response } from "stoa";
import { describe, expect, it } from "vitest";
import { markSecret } from "../../../src/batteries/compression/secrets.js";
import { wire } from "../support.js";
import type { WireRequest, WireResponse } from "../wire.js";

const gzip: WireRequest = { headers: { "Accept-Encoding": "gzip" } };
const text = "All work and no play makes Jack a dull boy. ".repeat(60);

function textApp(...given: Parameters<App["enableCompression"]>): App {
  const app = new App().enableCompression(...given);
  app.get("/text", () => text);
  app.get("/size/{n}", (request) => "x".repeat(Number(request.params.n)));
  return app;
}

function expectGzip(response: WireResponse, body: string): void {
  expect(response.get("content-encoding")).toBe("gzip");
  expect(response.get("vary")).toBe("Accept-Encoding");
  expect(gunzipSync(response.body).toString()).toBe(body);
}

describe("enableCompression()", () => {
  it("A client that accepts gzip gets a compressed body with the true length", async () => {
    await using server = await wire(textApp());
    const response = await server.send("/text", gzip);
    expectGzip(response, text);
    expect(response.get("content-length")).toBe(String(response.body.length));
    expect(response.body.length).toBeLessThan(text.length / 4);
    expect(response.get("content-type")).toBe("text/plain; charset=utf-8");
  });

  it.each([undefined, "identity", "deflate", "gzip;q=0", "*;q=0", "identity, gzip;q=0.5", "br"])(
    "The body is sent plain for Accept-Encoding: %s, with Vary",
    async (accepted) => {
      await using server = await wire(textApp());
      const response = await server.send(
        "/text",
        accepted === undefined ? {} : { headers: { "Accept-Encoding": accepted } },
      );
      expect(response.get("content-encoding")).toBeUndefined();
      expect(response.get("vary")).toBe("Accept-Encoding");
      expect(response.text).toBe(text);
      expect(response.get("content-length")).toBe(String(text.length));
    },
  );

  it("A higher level and quality make bodies smaller", async () => {
    const words = Array.from({ length: 4000 }, (_, i) => `word${(i * 7919) % 1013} `).join("");
    const sizeOf = async (options: CompressionOptions, accepted: string): Promise<number> => {
      const app = new App().enableCompression(options).get("/", () => words);
      await using server = await wire(app);
      const response = await server.send("/", { headers: { "Accept-Encoding": accepted } });
      expect(response.get("content-encoding")).toBe(accepted);
      return response.body.length;
    };
    expect(await sizeOf({ level: 9 }, "gzip")).toBeLessThan(await sizeOf({ level: 1 }, "gzip"));
    const brotli = (brotliQuality: number): Promise<number> => sizeOf({ brotli: true, brotliQuality }, "br");
    expect(await brotli(11)).toBeLessThan(await brotli(0));
  });

  it("Bodies are compressed from 1024 bytes on, or from the given size", async () => {
    {
      await using server = await wire(textApp());
      const small = await server.send("/size/1023", gzip);
      expect([small.get("content-encoding"), small.get("vary")]).toEqual([undefined, undefined]);
      expectGzip(await server.send("/size/1024", gzip), "x".repeat(1024));
    }
    for (const app of [textApp(2048), textApp({ minSize: 2048 }), textApp({ min_size: 2048 })]) {
      await using server = await wire(app);
      expect((await server.send("/size/2047", gzip)).get("content-encoding")).toBeUndefined();
      expect((await server.send("/size/2048", gzip)).get("content-encoding")).toBe("gzip");
    }
  });

  it("The size for compression counts bytes, not characters", async () => {
    const app = new App().enableCompression(1024);
    app.get("/{n}", (request) => "é".repeat(Number(request.params.n)));
    await using server = await wire(app);
    expect((await server.send("/511", gzip)).get("content-encoding")).toBeUndefined();
    expectGzip(await server.send("/512", gzip), "é".repeat(512));
  });

  it("Bodies of every size and kind are compressed", async () => {
    const app = new App().enableCompression();
    const body = (size: number): string => JSON.stringify(Array.from({ length: size / 10 }, (_, i) => i * 7919));
    app.get("/json/{n}", (request) => Response.json(JSON.parse(body(Number(request.params.n)))));
    app.get("/bytes/{n}", (request) => new TextEncoder().encode(body(Number(request.params.n))));
    await using server = await wire(app);
    for (const size of [3000, 5000, 40_000, 1_000_000]) {
      expectGzip(await server.send(`/json/${size}`, gzip), body(size));
      expectGzip(await server.send(`/bytes/${size}`, gzip), body(size));
    }
  });

  it.each([
    "image/png",
    "image/jpeg",
    "video/mp4",
    "audio/mpeg",
    "application/zip",
    "application/gzip",
    "font/woff2",
    "IMAGE/WebP; x=y",
    "text/event-stream",
  ])("A body of the type %s is not compressed", async (type) => {
    const app = new App().enableCompression();
    app.get("/", () => new Response(text, { headers: { "Content-Type": type } }));
    await using server = await wire(app);
    const response = await server.send("/", gzip);
    expect([response.get("content-encoding"), response.get("vary"), response.text]).toEqual([
      undefined,
      undefined,
      text,
    ]);
  });

  it.each(["image/svg+xml", "application/problem+json", "application/octet-stream", "font/ttf", "text/html"])(
    "A body of the type %s is compressed",
    async (type) => {
      const app = new App().enableCompression();
      app.get("/", () => new Response(text, { headers: { "Content-Type": type } }));
      await using server = await wire(app);
      expectGzip(await server.send("/", gzip), text);
    },
  );

  it.each<[string, Record<string, string>]>([
    ["that is encoded already", { "Content-Encoding": "br" }],
    ["that must not be transformed", { "Cache-Control": "public, No-Transform" }],
    ["that sets a cookie", { "Set-Cookie": "a=b" }],
    ["that is a part", { "Content-Range": "bytes 0-9/20" }],
  ])("A body is not compressed in a response %s", async (_why, headers) => {
    const app = new App().enableCompression();
    app.get("/", () => new Response(text, { headers }));
    await using server = await wire(app);
    const response = await server.send("/", gzip);
    expect(response.get("content-encoding")).toBe(headers["Content-Encoding"]);
    expect(response.text).toBe(text);
  });

  it("A part of a body that would be compressed has the Vary of the whole and is sent plain", async () => {
    const app = new App().enableCompression();
    const parts: Record<string, string> = {
      large: "bytes 0-4/2000",
      unknown: "bytes 0-4/*",
      small: "bytes 0-4/20",
      cookie: "bytes 0-4/2000",
      picture: "bytes 0-4/2000",
    };
    app.get("/{kind}", ({ params: { kind } }) => {
      const headers = {
        "Content-Range": parts[kind]!,
        "Content-Type": kind === "picture" ? "image/png" : "text/plain",
        ...(kind === "cookie" && { "Set-Cookie": "a=b" }),
      };
      return new Response(kind === "large" ? text : "12345", { status: 206, headers });
    });
    await using server = await wire(app);
    const varies: Record<string, string | undefined> = {};
    for (const kind of Object.keys(parts)) {
      const response = await server.send(`/${kind}`, gzip);
      expect([response.status, response.get("content-encoding")]).toEqual([206, undefined]);
      varies[kind] = response.get("vary");
    }
    const vary = "Accept-Encoding";
    expect(varies).toEqual({ large: vary, unknown: vary, small: undefined, cookie: undefined, picture: undefined });
  });

  it("A range of a file that is compressed as a whole has the same Vary as the whole", async () => {
    const app = new App().enableCompression();
    app.get("/", () => Response.file(new URL("../../../README.md", import.meta.url)));
    await using server = await wire(app);
    const whole = await server.send("/", gzip);
    const part = await server.send("/", { headers: { "Accept-Encoding": "gzip", Range: "bytes=0-9" } });
    expect([whole.status, whole.get("content-encoding"), whole.get("vary")]).toEqual([200, "gzip", "Accept-Encoding"]);
    expect([part.status, part.get("content-encoding"), part.get("vary")]).toEqual([206, undefined, "Accept-Encoding"]);
    expect(part.body).toHaveLength(10);
  });

  it("Responses that set a cookie are compressed if the option says so", async () => {
    const app = new App().enableCompression({ withCookies: true });
    app.get("/", () => new Response(text).cookie("a", "b"));
    await using server = await wire(app);
    expectGzip(await server.send("/", gzip), text);
  });

  it("A body that is marked as secret is not compressed", async () => {
    const app = new App().enableCompression();
    app.get("/{secret}", (request) => {
      if (request.params.secret === "yes") markSecret(request);
      return text;
    });
    await using server = await wire(app);
    expect((await server.send("/yes", gzip)).text).toBe(text);
    expectGzip(await server.send("/no", gzip), text);
  });

  it("A page with a CSRF token is not compressed, also if no cookie is set with it", async () => {
    const app = new App().enableCompression().enableCsrf({ tokens: true, secret: "s".repeat(32) });
    app.get("/form", (request) => text + request.csrfToken());
    await using server = await wire(app);
    const first = await server.send("/form", gzip);
    const cookie = first.get("set-cookie")!.split(";")[0]!;
    const second = await server.send("/form", { headers: { ...gzip.headers, Cookie: cookie } });
    expect(second.get("set-cookie")).toBeUndefined();
    for (const response of [first, second]) expect(response.get("content-encoding")).toBeUndefined();
  });

  it("A route with compression: false is not compressed", async () => {
    const app = new App().enableCompression();
    app.get("/", { compression: false }, () => text);
    await using server = await wire(app);
    const response = await server.send("/", gzip);
    expect([response.get("content-encoding"), response.text]).toEqual([undefined, text]);
  });

  it("A body that compression does not make smaller is sent plain", async () => {
    const app = new App().enableCompression();
    const noise = Buffer.from(Array.from({ length: 2000 }, (_, i) => (Math.sin(i) * 1e9) & 255));
    app.get("/", () => noise);
    await using server = await wire(app);
    const response = await server.send("/", gzip);
    expect(response.body.equals(noise)).toBe(true);
    expect([response.get("content-encoding"), response.get("vary")]).toEqual([undefined, "Accept-Encoding"]);
  });

  it("Accept-Encoding is added once to a handler's own Vary", async () => {
    const app = new App().enableCompression();
    app.get("/", () => new Response(text, { headers: { Vary: "accept-encoding, Accept" } }));
    app.get("/other", () => new Response(text, { headers: { Vary: "Accept" } }));
    await using server = await wire(app);
    expect((await server.send("/", gzip)).get("vary")).toBe("accept-encoding, Accept");
    expect((await server.send("/other", gzip)).get("vary")).toBe("Accept, Accept-Encoding");
    expect((await server.send("/other")).get("vary")).toBe("Accept, Accept-Encoding");
  });

  it("A response object that is used again stays unchanged", async () => {
    const app = new App().enableCompression();
    const same = new Response(text, { headers: { ETag: '"a"' } });
    app.get("/", () => same);
    await using server = await wire(app);
    for (let i = 0; i < 2; i++) {
      expectGzip(await server.send("/", gzip), text);
      const plain = await server.send("/");
      expect([plain.text, plain.get("etag"), plain.get("vary")]).toEqual([text, '"a"', "Accept-Encoding"]);
    }
  });

  it("A HEAD request gets the headers of GET", async () => {
    const app = new App().enableCompression({ streams: true }).enableEtag();
    app.get("/text", () => text);
    app.get("/stream", () => Response.stream(pieces(text)));
    await using server = await wire(app);
    for (const path of ["/text", "/stream"]) {
      const get = await server.send(path, gzip);
      const head = await server.send(path, { ...gzip, method: "HEAD" });
      expect(head.body.length).toBe(0);
      for (const name of ["content-encoding", "content-length", "vary", "etag", "content-type"]) {
        expect([path, name, head.get(name)]).toEqual([path, name, get.get(name)]);
      }
      const small = await server.send(path, { method: "HEAD" });
      expect([small.get("content-encoding"), small.get("vary")]).toEqual([undefined, "Accept-Encoding"]);
    }
  });

  it("A strong entity tag becomes weak, and still gives 304 for either form", async () => {
    const app = new App().enableCompression().enableEtag();
    app.get("/strong", () => new Response(text, { headers: { ETag: '"v1"' } }));
    app.get("/weak", () => text);
    await using server = await wire(app);
    expect((await server.send("/strong", gzip)).get("etag")).toBe('W/"v1"');
    expect((await server.send("/strong")).get("etag")).toBe('"v1"');
    const weak = (await server.send("/weak", gzip)).get("etag")!;
    expect(weak).toMatch(/^W\/"/);
    expect((await server.send("/weak")).get("etag")).toBe(weak);
    for (const [path, tag] of [
      ["/strong", 'W/"v1"'],
      ["/weak", weak],
    ] as const) {
      const unchanged = await server.send(path, { headers: { ...gzip.headers, "If-None-Match": tag } });
      expect([unchanged.status, unchanged.get("etag"), unchanged.get("vary")]).toEqual([304, tag, "Accept-Encoding"]);
      expect(unchanged.get("content-encoding")).toBeUndefined();
    }
  });

  it("Errors are compressed too, and a response without a body has no encoding", async () => {
    const app = new App().enableCompression(1);
    app.get("/empty", () => undefined);
    app.get("/redirect", () => Response.redirect("/x"));
    await using server = await wire(app);
    const missing = await server.send("/nowhere", gzip);
    expect(missing.status).toBe(404);
    expect(JSON.parse(gunzipSync(missing.body).toString()).status).toBe(404);
    for (const path of ["/empty", "/redirect"]) {
      expect((await server.send(path, gzip)).get("content-encoding")).toBeUndefined();
    }
  });

  it("The last call of enableCompression() counts, and invalid options are refused at once", async () => {
    await using server = await wire(textApp(5).enableCompression(4000));
    expect((await server.send("/text", gzip)).get("content-encoding")).toBeUndefined();
    expect(() => new App().enableCompression(-1)).toThrow("option 'minSize' in enableCompression() must be");
    expect(() => new App().enableCompression({ level: 10 })).toThrow("from 1 to 9");
    expect(() => new App().enableCompression({ min_sise: 1 } as never)).toThrow("did you mean 'min_size'?");
  });
});

describe("brotli", () => {
  it("Brotli is sent, if enabled, to clients that rate it at least as high as gzip", async () => {
    await using server = await wire(textApp({ brotli: true }));
    const ask = (accepted: string): Promise<WireResponse> =>
      server.send("/text", { headers: { "Accept-Encoding": accepted } });
    const response = await ask("gzip, deflate, br");
    expect(response.get("content-encoding")).toBe("br");
    expect(brotliDecompressSync(response.body).toString()).toBe(text);
    expect((await ask("gzip;q=1, br;q=0.9")).get("content-encoding")).toBe("gzip");
    expect((await ask("gzip")).get("content-encoding")).toBe("gzip");
  });

  it("Brotli is not sent unless enabled", async () => {
    await using server = await wire(textApp());
    const response = await server.send("/text", { headers: { "Accept-Encoding": "br, gzip;q=0.1" } });
    expect(response.get("content-encoding")).toBe("gzip");
  });

  it("Brotli compresses streams too", async () => {
    const app = new App().enableCompression({ brotli: true, streams: true });
    app.get("/", () => Response.stream(pieces(text)));
    await using server = await wire(app);
    const response = await server.send("/", { headers: { "Accept-Encoding": "br" } });
    expect(brotliDecompressSync(response.body).toString()).toBe(text);
  });
});

describe("a compressed stream", () => {
  it("Each piece of a compressed stream is sent before the next is made", async () => {
    const app = new App().enableCompression({ streams: true });
    let release = (): void => {};
    const seen = new Promise<void>((resolve) => {
      release = resolve;
    });
    app.get("/", () =>
      Response.stream(
        (async function* () {
          yield "first";
          await seen;
          yield "second";
        })(),
      ),
    );
    await using server = await wire(app);
    const request = http.get(server.url, { headers: gzip.headers!, agent: false });
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    expect(response.headers["content-encoding"]).toBe("gzip");
    expect(response.headers["content-length"]).toBeUndefined();
    const plain = response.pipe(createGunzip());
    let received = "";
    for await (const piece of plain) {
      received += String(piece);
      if (received === "first") release();
    }
    expect(received).toBe("firstsecond");
  });

  it("A stream of unknown length is not compressed by default", async () => {
    const app = new App().enableCompression();
    app.get("/", () => Response.stream(pieces(text)));
    await using server = await wire(app);
    const response = await server.send("/", gzip);
    expect([response.get("content-encoding"), response.get("vary"), response.text]).toEqual([
      undefined,
      undefined,
      text,
    ]);
  });

  it("A stream of a known length is compressed from min_size on", async () => {
    const app = new App().enableCompression();
    const stream = (body: string): Response =>
      Response.stream(pieces(body), { headers: { "Content-Length": String(body.length), "Accept-Ranges": "bytes" } });
    app.get("/large", () => stream(text));
    app.get("/small", () => stream("small"));
    await using server = await wire(app);
    const large = await server.send("/large", gzip);
    expectGzip(large, text);
    expect([large.get("content-length"), large.get("accept-ranges")]).toEqual([undefined, undefined]);
    const small = await server.send("/small", gzip);
    expect([small.get("content-encoding"), small.get("content-length"), small.text]).toEqual([undefined, "5", "small"]);
  });

  it("A compressed stream can be empty, and have empty pieces and pieces of bytes", async () => {
    const app = new App().enableCompression({ streams: true });
    app.get("/empty", () => Response.stream(pieces("")));
    app.get("/mixed", () => Response.stream(of("", "a", new Uint8Array(0), new Uint8Array([98]), "é")));
    await using server = await wire(app);
    expect(gunzipSync((await server.send("/empty", gzip)).body).toString()).toBe("");
    expect(gunzipSync((await server.send("/mixed", gzip)).body).toString()).toBe("abé");
  });

  it("A compressed stream that fails breaks the connection", async () => {
    const app = new App().enableCompression({ streams: true });
    app.get("/", () =>
      Response.stream(
        (async function* () {
          yield text;
          throw new Error("broken");
        })(),
      ),
    );
    await using server = await wire(app);
    await expect(server.send("/", gzip)).rejects.toThrow();
  });

  it("A compressed stream ends its source when the client disconnects", async () => {
    const app = new App().enableCompression({ streams: true });
    let ended = (): void => {};
    const end = new Promise<void>((resolve) => {
      ended = resolve;
    });
    app.get("/", () =>
      Response.stream(
        (async function* () {
          try {
            for (;;) {
              yield "tick ";
              await new Promise((resolve) => setImmediate(resolve));
            }
          } finally {
            ended();
          }
        })(),
      ),
    );
    await using server = await wire(app);
    const request = http.get(server.url, { headers: gzip.headers!, agent: false });
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    await once(response, "data");
    response.on("error", () => {});
    request.destroy();
    await end;
  });
});

async function* pieces(body: string): AsyncIterableIterator<string> {
  for (let i = 0; i < body.length; i += 500) yield body.slice(i, i + 500);
}

async function* of(...items: (string | Uint8Array)[]): AsyncIterableIterator<string | Uint8Array> {
  yield* items;
}
