import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { websiteApp } from "../../examples/website/app.js";
import { wire } from "../batteries/support.js";

describe("the website example", () => {
  it("The website example serves its folder and its page, compressed, with entity tags and security headers", async () => {
    await using server = await wire(websiteApp());
    const home = await server.send("/");
    expect([home.status, home.get("cache-control")]).toEqual([200, "max-age=600"]);
    expect(home.text).toContain("<h1>A small site</h1>");
    expect(home.get("content-security-policy")).toContain("style-src 'self'");
    expect((await server.send("/guide")).get("location")).toBe("/guide/");
    expect((await server.send("/guide/")).text).toContain("The guide");
    const primes = await server.send("/primes?limit=10000", { headers: { "Accept-Encoding": "gzip" } });
    expect(JSON.parse(gunzipSync(primes.body).toString()).primes).toHaveLength(1229);
    const headers = { "If-None-Match": primes.get("etag")! };
    expect((await server.send("/primes?limit=10000", { headers })).status).toBe(304);
  });
});
