import { App, JwtAuth } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { booksApp } from "../../../examples/books/app.js";
import { hostOf } from "../../../src/app/app.js";
import { relativeAddress } from "../../../src/routing/pattern.js";

describe("the document over the wire", () => {
  it("The document is JSON that is revalidated, with 304 for clients that have it", async () => {
    await using server = await serve(booksApp());
    const first = await fetch(`${server.url}/openapi.json`);
    expect([first.status, first.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect(first.headers.get("cache-control")).toBe("no-cache");
    const etag = first.headers.get("etag")!;
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    const text = await first.text();
    const again = await fetch(`${server.url}/openapi.json`, { headers: { "if-none-match": etag } });
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
    const other = await fetch(`${server.url}/openapi.json`, { headers: { "if-match": '"other"' } });
    expect(other.status).toBe(412);
    const head = await fetch(`${server.url}/openapi.json`, { method: "HEAD" });
    expect(head.headers.get("content-length")).toBe(String(Buffer.byteLength(text)));
    expect((await fetch(`${server.url}/openapi.json`, { method: "POST" })).status).toBe(405);
  });

  it("The document is the same from one start to the next", async () => {
    const text = async () => (await booksApp().request("/openapi.json")).text();
    expect(await text()).toBe(await text());
  });
});

describe("the pages over the wire", () => {
  it.each(["/docs", "/redoc"])("The page %s runs its own scripts and nothing else", async (path) => {
    const app = booksApp().enableSecurityHeaders();
    await using server = await serve(app);
    const page = async () => {
      const response = await fetch(server.url + path);
      return { policy: response.headers.get("content-security-policy")!, html: await response.text(), response };
    };
    const { policy, html, response } = await page();
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const nonce = /script-src 'nonce-([^']+)'/.exec(policy)![1]!;
    expect(Buffer.from(nonce, "base64")).toHaveLength(16);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect((await page()).policy).not.toBe(policy);
    expect(html).not.toMatch(/https?:\/\//);
    const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file]) => file!);
    for (const file of files.filter((file) => !file.startsWith("data:"))) {
      const asset = await fetch(new URL(file, server.url + path));
      expect([file, asset.status]).toEqual([file, 200]);
      if (file.endsWith(".json") || file === "docs" || file === "redoc") continue;
      expect(asset.headers.get("content-type")).toMatch(/^text\/(?:css|javascript); charset=utf-8$/);
      expect(asset.headers.get("x-content-type-options")).toBe("nosniff");
      const unchanged = await fetch(new URL(file, server.url + path), {
        headers: { "if-none-match": asset.headers.get("etag")! },
      });
      expect(unchanged.status).toBe(304);
    }
  });

  it("The documentation pages request nothing from other hosts", async () => {
    const text = await (await booksApp().request("/redoc/redoc.standalone.js")).text();
    expect(text).toContain("Redoc");
    expect(text).not.toContain("cdn.redoc.ly");
  });

  it("The documentation pages can try requests on the other servers of the API", async () => {
    const app = new App().enableOpenapi({ servers: ["/", "https://api.example.com/v1", { url: "http://b.test:81" }] });
    const policy = (await app.request("/docs")).headers.get("content-security-policy");
    expect(policy).toContain("connect-src 'self' https://api.example.com http://b.test:81;");
  });

  it("The documentation pages are at the configured paths, or disabled", async () => {
    const app = new App().enableOpenapi({
      openapiPath: "/api/v1/spec.json",
      docsPath: "/api/pages/docs",
      redocPath: false,
    });
    expect((await app.request("/api/v1/spec.json")).status).toBe(200);
    expect(await (await app.request("/api/pages/docs")).text()).toContain('data-openapi="../v1/spec.json"');
    expect((await app.request("/api/pages/docs/start.js")).status).toBe(200);
    for (const path of ["/docs", "/redoc", "/openapi.json"]) expect((await app.request(path)).status).toBe(404);
  });

  it("The title is escaped in the documentation pages", async () => {
    const app = new App().enableOpenapi({ title: '</title><script>alert(1)</script>"' });
    const html = await (await app.request("/docs")).text();
    expect(html).toContain("<title>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;</title>");
  });

  it("The documentation pages need authentication, until their paths are skipped", async () => {
    const secret = "0123456789abcdef0123456789abcdef";
    const closed = new App().use(new JwtAuth({ secret })).enableOpenapi();
    expect((await closed.request("/docs")).status).toBe(401);
    const open = new App().use(new JwtAuth({ secret }).skipPath("/docs")).enableOpenapi();
    expect((await open.request("/docs")).status).toBe(200);
    expect((await open.request("/docs/swagger-ui.css")).status).toBe(200);
    expect((await open.request("/openapi.json")).status).toBe(401);
  });

  it("The last call of enableOpenapi() counts", async () => {
    const app = new App().enableOpenapi("One").enable_openapi("Two");
    expect(await (await app.request("/docs")).text()).toContain("<title>Two</title>");
  });

  it("The documentation pages are listed when the server starts", async () => {
    const app = new App().enableOpenapi();
    await app.start();
    expect(hostOf(app).links()).toEqual([["Docs", "/docs"]]);
  });
});

describe("a relative address", () => {
  it.each([
    ["/docs", "/openapi.json", "openapi.json"],
    ["/a/docs", "/openapi.json", "../openapi.json"],
    ["/a/docs", "/a/openapi.json", "openapi.json"],
    ["/a/b/docs", "/a/c/openapi.json", "../c/openapi.json"],
    ["/docs", "/docs/openapi.json", "docs/openapi.json"],
    ["/_jobs", "/", "./"],
    ["/ops/jobs", "/", "../"],
  ])("The relative address from %s to %s is %s", (from, to, expected) => {
    expect(relativeAddress(from, to)).toBe(expected);
    expect(new URL(expected, `http://x${from}`).pathname).toBe(to);
  });
});
