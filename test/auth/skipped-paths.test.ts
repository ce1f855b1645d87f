import { App, BasicAuth } from "stoa";
import { describe, expect, it } from "vitest";
import { SkippedPaths } from "../../src/auth/skipped-paths.js";
import fc from "../support/properties.js";

const health = new SkippedPaths("a test", ["/health"]);

describe("skipped paths", () => {
  it("A skipped path covers itself and everything below it at a slash", () => {
    for (const path of ["/health", "/health/", "/health/live", "/health/a/b", "/health/.well-known", "/health/a%20b"]) {
      expect(health.covers(path), path).toBe(true);
    }
  });

  it("A skipped path covers no path that only begins alike, or is written in another way", () => {
    const others = ["/", "/healthz", "/health-admin", "/health.json", "/HEALTH", "/x/health", "/heal", "//health"];
    const disguised = ["/%68ealth", "/health%2fadmin", "/health%2f..%2fadmin", "/health;x", "/health\\admin"];
    for (const path of [...others, ...disguised]) expect(health.covers(path), path).toBe(false);
  });

  it("A skipped path cannot be left through dot segments, encoded or not", () => {
    const paths = ["/health/../admin", "/health/./../admin", "/health/%2e%2e/admin", "/health/.%2e/admin"];
    const more = ["/health/..%2fadmin", "/health/%2e%2e%2fadmin", "/health/..", "/health/..%5cadmin", "/health/%zz"];
    for (const path of [...paths, ...more]) expect(health.covers(path), path).toBe(false);
  });

  it("A skipped path covers a path only if its first segments are the same", () => {
    const segment = fc.constantFrom("health", "admin", "..", ".", "%2e%2e", "healthz", "a%2fb", "");
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 5 }), (segments) => {
        if (health.covers(`/${segments.join("/")}`)) {
          expect(segments[0]).toBe("health");
          expect(segments.some((item) => item === ".." || item === "." || item === "%2e%2e")).toBe(false);
        }
      }),
    );
  });

  it("The skipped path '/' covers only the root page", () => {
    const root = new SkippedPaths("a test", ["/"]);
    expect([root.covers("/"), root.covers("/admin")]).toEqual([true, false]);
  });

  it("A skipped path that ends in a slash covers only what is below it", () => {
    const below = new SkippedPaths("a test", ["/public/"]);
    expect([below.covers("/public/a"), below.covers("/public/"), below.covers("/public")]).toEqual([true, true, false]);
  });

  it("Skipped paths in any spelling are compared in the form of request.path", () => {
    for (const path of ["/über", "/%C3%BCber", "/%c3%bcb%65r"]) {
      expect(new SkippedPaths("a test", [path]).covers("/über/x"), path).toBe(true);
    }
    expect(new SkippedPaths("a test", ["/a%20b"]).covers("/a%20b")).toBe(true);
  });

  it("A skipped path is skipped over the wire, however the client writes it", async () => {
    const app = new App().use(new BasicAuth(() => false).skipPath("/über"));
    app.get("/über", () => "in");
    expect((await app.request("/über")).status).toBe(200);
    expect((await app.request("/%c3%bcb%65r")).status).toBe(200);
    expect((await app.request("/%c3%bcber%2f")).status).toBe(401);
  });

  it("An invalid skipped path is refused with the reason", () => {
    const add = (path: unknown) => () => new SkippedPaths("skipPath()", [path as string]);
    expect(add("health")).toThrow("skipPath() takes a path that begins with '/', not \"health\"");
    expect(add(undefined)).toThrow("begins with '/'");
    expect(add("/public/*")).toThrow('not the pattern "/public/*"; what is below it is covered too');
    expect(add("/books/{id}")).toThrow("pattern");
    expect(add("/a?b")).toThrow("character");
    expect(add("/a/../b")).toThrow("not a path that a route can have");
    expect(add("/a/%zz")).toThrow("not a path that a route can have");
  });
});
