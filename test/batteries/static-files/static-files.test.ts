import { mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import { App, StaticFilesConfig } from "stoa";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Wire, wire } from "../support.js";
import type { WireRequest } from "../wire.js";

const script = "console.log('a long script');\n".repeat(100);
const big = "0123456789abcdef".repeat(20_000);
const alphabet = "abcdefghijklmnopqrstuvwxyz";
const modified = new Date("2024-05-06T07:08:09Z");

let base: string;
let files: string;
let server: Wire;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "stoa-static-"));
  files = join(base, "files");
  await mkdir(join(files, "sub", "deep"), { recursive: true });
  await mkdir(join(files, ".hidden"));
  await mkdir(join(base, "outside"));
  const contents: Record<string, string | Buffer> = {
    "files/index.html": "<h1>home</h1>",
    "files/app.js": script,
    "files/app.js.br": brotliCompressSync(script),
    "files/app.js.gz": gzipSync(script),
    "files/only.css": "a{}",
    "files/only.css.gz": gzipSync("a{}"),
    "files/alphabet.txt": alphabet,
    "files/big.txt": big,
    "files/photo.png": Buffer.from([1, 2, 3]),
    "files/photo.png.gz": "not this",
    "files/with space é.txt": "spaced",
    "files/100%.txt": "percent",
    "files/noextension": "?",
    "files/sub/index.html": "<h1>sub</h1>",
    "files/sub/page.txt": "page",
    "files/sub/deep/file.txt": "deep",
    "files/.secret": "secret",
    "files/.hidden/file.txt": "secret",
    "files/sub/.env": "secret",
    "outside/secret.txt": "secret",
    "outside/index.html": "secret",
    "files-sibling.txt": "secret",
  };
  for (const [name, content] of Object.entries(contents)) {
    await writeFile(join(base, name), content);
    await utimes(join(base, name), modified, modified);
  }
  await symlink(join(base, "outside", "secret.txt"), join(files, "link-out.txt"));
  await symlink(join(base, "outside"), join(files, "link-out"));
  await symlink(join(base, "outside", "secret.txt"), join(files, "alphabet.txt.gz"));
  await symlink(".secret", join(files, "link-hidden.txt"));
  await symlink("app.js", join(files, "link-in.js"));
  await symlink("loop", join(files, "loop"));
  const app = new App().enableStaticFiles(new StaticFilesConfig({ directory: files }));
  server = await wire(app);
});

afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await rm(base, { recursive: true });
});

function mounted(...given: Parameters<App["enableStaticFiles"]>): Promise<Wire> {
  return wire(new App().enableStaticFiles(...given));
}

describe("enableStaticFiles()", () => {
  it.each([
    ["/static/app.js", script, "text/javascript; charset=utf-8"],
    ["/static/sub/page.txt", "page", "text/plain; charset=utf-8"],
    ["/static/sub/deep/file.txt", "deep", "text/plain; charset=utf-8"],
    ["/static/with%20space%20%C3%A9.txt", "spaced", "text/plain; charset=utf-8"],
    ["/static/100%25.txt", "percent", "text/plain; charset=utf-8"],
    ["/static/noextension", "?", "application/octet-stream"],
    ["/static/big.txt", big, "text/plain; charset=utf-8"],
    ["/static/link-in.js", script, "text/javascript; charset=utf-8"],
    ["/static/", "<h1>home</h1>", "text/html; charset=utf-8"],
    ["/static/sub/", "<h1>sub</h1>", "text/html; charset=utf-8"],
    ["/static/app.js?v=2", script, "text/javascript; charset=utf-8"],
    ["/%73tatic/app.js", script, "text/javascript; charset=utf-8"],
  ])("The static file %s is served", async (path, body, type) => {
    const response = await server.send(path);
    expect([response.status, response.get("content-type"), response.text]).toEqual([200, type, body]);
    expect(response.get("content-length")).toBe(String(Buffer.byteLength(body)));
    expect(response.get("cache-control")).toBe("max-age=3600");
    expect(response.get("last-modified")).toBe("Mon, 06 May 2024 07:08:09 GMT");
    expect(response.get("accept-ranges")).toBe("bytes");
    expect(response.get("etag")).toMatch(/^"/);
  });

  it("A HEAD request for a static file gets the same headers and no body", async () => {
    for (const path of ["/static/app.js", "/static/big.txt", "/static/"]) {
      const get = await server.send(path);
      const head = await server.send(path, { method: "HEAD" });
      expect([head.status, head.text]).toEqual([200, ""]);
      for (const name of ["content-length", "content-type", "etag", "last-modified", "cache-control", "vary"]) {
        expect([name, head.get(name)]).toEqual([name, get.get(name)]);
      }
    }
  });

  it.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])(
    "The method %s for a static file gets 405 and Allow",
    async (method) => {
      const response = await server.send("/static/app.js", { method });
      expect([response.status, response.get("allow")]).toEqual([405, "GET, HEAD"]);
    },
  );

  it.each([
    "/static/missing.js",
    "/static/sub/deep/",
    "/static/sub/deep",
    "/static/app.js/",
    "/static/app.js/x",
    "/app.js",
    "/statics/app.js",
    "/static/loop",
  ])("The path %s is 404, without Cache-Control", async (path) => {
    const response = await server.send(path);
    expect([response.status, response.get("cache-control")]).toEqual([404, undefined]);
  });

  it("A directory without a slash redirects to the one with it", async () => {
    for (const [path, location] of [
      ["/static", "/static/"],
      ["/static/sub", "/static/sub/"],
      ["/static/sub?a=b/c", "/static/sub/?a=b/c"],
    ] as const) {
      const response = await server.send(path);
      expect([response.status, response.get("location")]).toEqual([301, location]);
    }
  });
});

describe("files outside the directory and hidden files", () => {
  it.each([
    "/static/../files-sibling.txt",
    "/static/../outside/secret.txt",
    "/static/sub/../../outside/secret.txt",
    "/static/%2e%2e/outside/secret.txt",
    "/static/.%2e/outside/secret.txt",
    "/static/%2E./outside/secret.txt",
    "/static/..%2foutside%2fsecret.txt",
    "/static/..%2Foutside/secret.txt",
    "/static/%2e%2e%2foutside/secret.txt",
    "/static/%252e%252e/outside/secret.txt",
    "/static/..%252foutside/secret.txt",
    "/static/%252e%252e%252foutside%252fsecret.txt",
    "/static/..\\outside\\secret.txt",
    "/static/..%5coutside%5csecret.txt",
    "/static/%2e%2e%5coutside/secret.txt",
    "/static/....//outside/secret.txt",
    "/static/..;/outside/secret.txt",
    "/static/..%00/outside/secret.txt",
    "/static/sub/%2e%2e/%2e%2e/outside/secret.txt",
    "/static/%c0%ae%c0%ae/outside/secret.txt",
    "/static/%e0%80%ae%e0%80%ae/outside/secret.txt",
    "/static/%c0%af..%c0%afoutside/secret.txt",
    "/static/%uff0e%uff0e/outside/secret.txt",
    "/static/%ef%bc%8e%ef%bc%8e/outside/secret.txt",
    "/static//etc/passwd",
    "/static/%2fetc%2fpasswd",
    "/static//app.js",
    "/static/sub//page.txt",
    "/static/sub%2fpage.txt",
    "/static/sub%5cpage.txt",
    "/static/file:%2f%2f%2fetc/passwd",
    "/static/app.js%00",
    "/static/app.js%00.png",
    "/static/%zz",
    "/static/%ff",
    "/static/%",
    "/static/.secret",
    "/static/%2esecret",
    "/static/%2Esecret",
    "/static/.hidden/file.txt",
    "/static/%2ehidden/file.txt",
    "/static/sub/.env",
    "/static/link-out.txt",
    "/static/link-out/secret.txt",
    "/static/link-out/",
    "/static/link-out",
    "/static/link-hidden.txt",
  ])("A file outside the directory or hidden is not served: %s", async (path) => {
    for (const headers of [{}, { "Accept-Encoding": "gzip, br" }] as Record<string, string>[]) {
      const response = await server.send(path, { headers });
      expect([400, 404]).toContain(response.status);
      expect(response.text).not.toMatch(/root:|^secret$/);
      expect(response.text).not.toContain(base);
    }
  });

  it("A compressed form that is a link to the outside is not served", async () => {
    const response = await server.send("/static/alphabet.txt", { headers: { "Accept-Encoding": "gzip" } });
    expect([response.status, response.get("content-encoding"), response.text]).toEqual([200, undefined, alphabet]);
  });

  it("Hidden files are served if that is allowed, but nothing outside", async () => {
    await using open = await mounted({ directory: files, dotfiles: "allow" });
    expect((await open.send("/static/.secret")).text).toBe("secret");
    expect((await open.send("/static/sub/.env")).text).toBe("secret");
    expect((await open.send("/static/link-out.txt")).status).toBe(404);
    expect((await open.send("/static/%2e%2e/files-sibling.txt")).status).toBe(400);
  });
});

describe("conditions and ranges", () => {
  const ask = (headers: Record<string, string>, path = "/static/alphabet.txt") => server.send(path, { headers });

  it.each([
    ["bytes=0-4", "abcde", "bytes 0-4/26"],
    ["bytes=-3", "xyz", "bytes 23-25/26"],
    ["bytes=20-", "uvwxyz", "bytes 20-25/26"],
    ["bytes=24-99", "yz", "bytes 24-25/26"],
  ])("A range of a static file gets 206: %s", async (range, body, contentRange) => {
    const response = await ask({ Range: range, "Accept-Encoding": "gzip" });
    expect([response.status, response.text, response.get("content-range")]).toEqual([206, body, contentRange]);
  });

  it("An unsatisfiable range gets 416, and an invalid one the whole file", async () => {
    const unsatisfiable = await ask({ Range: "bytes=26-" });
    expect([unsatisfiable.status, unsatisfiable.get("content-range")]).toEqual([416, "bytes */26"]);
    for (const range of ["bytes=5-2", "lines=1-2", "garbage"]) {
      const response = await ask({ Range: range });
      expect([response.status, response.text]).toEqual([200, alphabet]);
    }
  });

  it("If-Range is obeyed for static files", async () => {
    const tag = (await ask({})).get("etag")!;
    expect((await ask({ Range: "bytes=0-1", "If-Range": tag })).status).toBe(206);
    expect((await ask({ Range: "bytes=0-1", "If-Range": '"other"' })).status).toBe(200);
  });

  it("A static file gets 304 by tag and by date, the tag first", async () => {
    const tag = (await ask({})).get("etag")!;
    const date = "Mon, 06 May 2024 07:08:09 GMT";
    const unchanged = await ask({ "If-None-Match": tag });
    expect([unchanged.status, unchanged.text, unchanged.get("etag")]).toEqual([304, "", tag]);
    expect(unchanged.get("cache-control")).toBe("max-age=3600");
    expect((await ask({ "If-Modified-Since": date })).status).toBe(304);
    expect((await ask({ "If-None-Match": '"other"', "If-Modified-Since": date })).status).toBe(200);
    expect((await ask({ "If-Modified-Since": "garbage" })).status).toBe(200);
  });
});

describe("files that are compressed already", () => {
  const ask = (accepted: string, path = "/static/app.js", more: WireRequest = {}) =>
    server.send(path, { ...more, headers: { "Accept-Encoding": accepted, ...more.headers } });

  it("A precompressed file is served to clients that accept it, with the type of the original", async () => {
    const br = await ask("gzip, deflate, br");
    expect([br.get("content-encoding"), br.get("content-type")]).toEqual(["br", "text/javascript; charset=utf-8"]);
    expect(brotliDecompressSync(br.body).toString()).toBe(script);
    const gzip = await ask("gzip, br;q=0.5");
    expect([gzip.get("content-encoding"), gzip.get("content-type")]).toEqual([
      "gzip",
      "text/javascript; charset=utf-8",
    ]);
    expect(gunzipSync(gzip.body).toString()).toBe(script);
    const css = await ask("br, gzip", "/static/only.css");
    expect(gunzipSync(css.body).toString()).toBe("a{}");
    const plain = await ask("identity");
    expect([plain.get("content-encoding"), plain.text]).toEqual([undefined, script]);
    expect((await ask("br;q=0, gzip;q=0")).text).toBe(script);
  });

  it("A precompressed file has its own entity tag and Vary: Accept-Encoding", async () => {
    const responses = await Promise.all([ask("br"), ask("gzip"), ask("identity")]);
    expect(new Set(responses.map((response) => response.get("etag"))).size).toBe(3);
    for (const response of responses) expect(response.get("vary")).toBe("Accept-Encoding");
    const tag = responses[0].get("etag")!;
    const unchanged = await ask("br", "/static/app.js", { headers: { "If-None-Match": tag } });
    expect([unchanged.status, unchanged.get("etag"), unchanged.get("vary")]).toEqual([304, tag, "Accept-Encoding"]);
    expect(unchanged.get("content-encoding")).toBeUndefined();
    expect((await ask("gzip", "/static/app.js", { headers: { "If-None-Match": tag } })).status).toBe(200);
  });

  it("HEAD and ranges work for precompressed files", async () => {
    const get = await ask("br");
    const head = await ask("br", "/static/app.js", { method: "HEAD" });
    expect([head.get("content-encoding"), head.get("content-length")]).toEqual(["br", String(get.body.length)]);
    const range = await ask("br", "/static/app.js", { headers: { Range: "bytes=0-3" } });
    expect([range.status, range.get("content-encoding")]).toEqual([206, "br"]);
    expect(range.body.equals(get.body.subarray(0, 4))).toBe(true);
  });

  it("A precompressed file is not searched for beside an image, or if that is disabled", async () => {
    const image = await ask("gzip", "/static/photo.png");
    expect([image.get("content-encoding"), image.get("vary"), image.body.length]).toEqual([undefined, undefined, 3]);
    await using plain = await mounted({ directory: files, precompressed: false });
    const response = await plain.send("/static/app.js", { headers: { "Accept-Encoding": "br" } });
    expect([response.get("content-encoding"), response.get("vary"), response.text]).toEqual([
      undefined,
      undefined,
      script,
    ]);
  });

  it("A file without a precompressed form is compressed if enableCompression() is on", async () => {
    const app = new App().enableStaticFiles(files).enableCompression().enableEtag();
    await using both = await wire(app);
    const headers = { "Accept-Encoding": "gzip" };
    const ready = await both.send("/static/app.js", { headers });
    expect([ready.get("content-encoding"), ready.get("vary")]).toEqual(["gzip", "Accept-Encoding"]);
    expect(ready.body.equals(gzipSync(script))).toBe(true);
    const large = await both.send("/static/big.txt", { headers });
    expect([large.get("content-encoding"), large.get("vary"), large.get("content-length")]).toEqual([
      "gzip",
      "Accept-Encoding",
      undefined,
    ]);
    expect(gunzipSync(large.body).toString()).toBe(big);
    const tag = large.get("etag")!;
    expect(tag).toMatch(/^W\/"/);
    const unchanged = await both.send("/static/big.txt", { headers: { ...headers, "If-None-Match": tag } });
    expect([unchanged.status, unchanged.get("etag"), unchanged.get("vary")]).toEqual([304, tag, "Accept-Encoding"]);
    const head = await both.send("/static/big.txt", { method: "HEAD", headers });
    expect([head.get("content-encoding"), head.get("content-length"), head.get("etag")]).toEqual([
      "gzip",
      undefined,
      tag,
    ]);
    const part = await both.send("/static/big.txt", { headers: { ...headers, Range: "bytes=0-1999" } });
    expect([part.status, part.get("content-encoding"), part.body.length]).toEqual([206, undefined, 2000]);
  });
});

describe("mounts", () => {
  it("Several directories can be mounted, each with its own options, in either spelling", async () => {
    const app = new App()
      .enableStaticFiles({ directory: files, prefix: "/assets/", cache_max_age: 5 })
      .enable_static_files({
        directory: join(files, "sub"),
        prefix: "/pages/here",
        index_file: "page.txt",
        cacheMaxAge: 0,
      })
      .enableStaticFiles(pathToFileURL(join(files, "sub")), "/third", "page.txt", 7);
    await using several = await wire(app);
    expect((await several.send("/assets/app.js")).get("cache-control")).toBe("max-age=5");
    const index = await several.send("/pages/here/");
    expect([index.text, index.get("cache-control")]).toEqual(["page", "max-age=0"]);
    expect((await several.send("/pages/here/deep/file.txt")).text).toBe("deep");
    const third = await several.send("/third/");
    expect([third.text, third.get("cache-control")]).toEqual(["page", "max-age=7"]);
    expect((await several.send("/static/app.js")).status).toBe(404);
  });

  it("A mount at the root leaves every route to the application", async () => {
    const app = new App().enableStaticFiles(files, "/");
    app.get("/api", () => "api");
    app.get("/sub/page.txt", () => "route");
    await using root = await wire(app);
    expect((await root.send("/")).text).toBe("<h1>home</h1>");
    expect((await root.send("/api")).text).toBe("api");
    expect((await root.send("/sub/page.txt")).text).toBe("route");
    expect((await root.send("/sub/deep/file.txt")).text).toBe("deep");
    expect((await root.send("//app.js")).status).toBe(404);
    expect((await root.send("/sub")).get("location")).toBe("/sub/");
  });

  it("A route below the prefix of a mount, or at it, takes precedence", async () => {
    const app = new App();
    app.get("/static/app.js", () => "route");
    app.get("/static", () => "mine");
    app.enableStaticFiles(files);
    app.get("/static/sub/{name}", (request) => `route ${request.params.name}`);
    await using server = await wire(app);
    expect((await server.send("/static/app.js")).text).toBe("route");
    expect((await server.send("/static/app.js", { method: "HEAD" })).get("cache-control")).toBeUndefined();
    expect((await server.send("/static/sub/page.txt")).text).toBe("route page.txt");
    expect((await server.send("/static")).text).toBe("mine");
    expect((await server.send("/static/alphabet.txt")).text).toBe(alphabet);
  });

  it("Guards apply to static files as to any route", async () => {
    const app = new App().enableStaticFiles(files);
    app.addGuard(() => false);
    await using guarded = await wire(app);
    expect((await guarded.send("/static/app.js")).status).toBe(403);
  });

  it("A later call for the same prefix replaces a mount", async () => {
    const empty = await mkdtemp(join(tmpdir(), "stoa-empty-"));
    const app = new App().enableStaticFiles(empty).enableStaticFiles(files);
    expect((await app.request("/static/")).status).toBe(200);
    await rm(empty, { recursive: true });
  });

  it("A route of the application for the same paths as a mount is refused", async () => {
    const app = new App().enableStaticFiles(files);
    app.get("/static/{all:*}", () => "");
    await expect(app.start()).rejects.toThrow("GET /static/{path:*} collides with GET /static/{all:*}");
  });
});

describe("StaticFilesConfig", () => {
  it("StaticFilesConfig has the contract's defaults and both spellings", () => {
    const config = new StaticFilesConfig({ directory: files });
    expect(config).toMatchObject({ directory: files, prefix: "/static" });
    expect([config.indexFile, config.index_file]).toEqual(["index.html", "index.html"]);
    expect([config.cacheMaxAge, config.cache_max_age]).toEqual([3600, 3600]);
  });

  it.each([
    [{}, "option 'directory' is required in StaticFilesConfig"],
    [{ directory: "/no/such/place" }, "must be a directory"],
    [{ directory: import.meta.filename }, "must be a directory"],
    [{ directory: ".", prefix: "static" }, "a path that begins with '/'"],
    [{ directory: ".", prefix: "/{a}" }, "a path without parameters"],
    [{ directory: ".", prefix: "/a//b" }, "a path without parameters"],
    [{ directory: ".", prefix: "/../x" }, "'..'"],
    [{ directory: ".", indexFile: "../index.html" }, "the name of a file"],
    [{ directory: ".", cacheMaxAge: -1 }, "must be a duration of at least 0, not -1"],
    [{ directory: ".", cache_maxage: 1 }, "did you mean 'cache_max_age'?"],
  ])("StaticFilesConfig refuses %j", (options, message) => {
    expect(() => new StaticFilesConfig(options as never)).toThrow(message);
    expect(() => new App().enableStaticFiles(options as never)).toThrow(message);
  });
});
