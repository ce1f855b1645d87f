import { describe, expect, it } from "vitest";
import { joinPaths, parsePattern } from "../../src/routing/pattern.js";
import { RouteTable } from "../../src/routing/table.js";

function tableOf(...routes: [method: string, path: string][]) {
  const table = new RouteTable<{ pattern: ReturnType<typeof parsePattern> }>();
  for (const [method, path] of routes) table.add(method, { pattern: parsePattern(path) });
  return {
    table,
    find(method: string, path: string) {
      const found = table.find(method, path);
      if (found.route === null) return null;
      const { pattern } = found.route;
      return { path: pattern.text, params: Object.fromEntries(pattern.paramNames.map((n, i) => [n, found.values[i]])) };
    },
  };
}

describe("finding a route", () => {
  const { find, table } = tableOf(
    ["GET", "/"],
    ["GET", "/books"],
    ["GET", "/books/new"],
    ["GET", "/books/{id}"],
    ["GET", "/books/{id}/pages/{page}"],
    ["POST", "/books/{id}"],
    ["GET", "/books/new/draft"],
    ["GET", "/files/{rest:*}"],
    ["GET", "/files/{name}/info"],
    ["GET", "/naïve/{id}"],
    ["HEAD", "/head-only"],
  );

  it("prefers static to parameter to wildcard", () => {
    expect(find("GET", "/books/new")?.path).toBe("/books/new");
    expect(find("GET", "/books/old")).toEqual({ path: "/books/{id}", params: { id: "old" } });
    expect(find("GET", "/files/a/info")).toEqual({ path: "/files/{name}/info", params: { name: "a" } });
    expect(find("GET", "/files/a/b")).toEqual({ path: "/files/{rest:*}", params: { rest: "a/b" } });
  });

  it("goes back when a static segment leads nowhere", () => {
    expect(find("GET", "/books/new/pages/3")).toEqual({
      path: "/books/{id}/pages/{page}",
      params: { id: "new", page: "3" },
    });
  });

  it("looks only among the routes of the method", () => {
    expect(find("POST", "/books/new")).toEqual({ path: "/books/{id}", params: { id: "new" } });
    expect(find("DELETE", "/books/new")).toBeNull();
  });

  it("falls back from HEAD to GET", () => {
    expect(find("HEAD", "/books/7")?.params).toEqual({ id: "7" });
    expect(find("HEAD", "/head-only")?.path).toBe("/head-only");
    expect(find("GET", "/head-only")).toBeNull();
  });

  it("gives the rest to a wildcard, be it empty", () => {
    expect(find("GET", "/files/")).toEqual({ path: "/files/{rest:*}", params: { rest: "" } });
    expect(find("GET", "/files")).toBeNull();
  });

  it("does not take an empty segment for a parameter", () => {
    expect(find("GET", "/books/")).toBeNull();
    expect(find("GET", "/books//pages/1")).toBeNull();
  });

  it("tells a trailing slash from none", () => {
    expect(find("GET", "/books/new/")).toBeNull();
  });

  it("decodes a parameter once, and keeps an encoded slash inside it", () => {
    expect(find("GET", "/books/a%20b")?.params).toEqual({ id: "a b" });
    expect(find("GET", "/books/a%2Fb")?.params).toEqual({ id: "a/b" });
    expect(find("GET", "/books/%2541")?.params).toEqual({ id: "%41" });
    expect(find("GET", "/na%C3%AFve/1")?.params).toEqual({ id: "1" });
    expect(find("GET", "/b%6Foks/new")?.path).toBe("/books/new");
  });

  it("takes names of Object.prototype for plain strings", () => {
    expect(find("GET", "/books/__proto__")?.params["id"]).toBe("__proto__");
    expect(find("GET", "/constructor")).toBeNull();
  });

  it.each(["/books/%zz", "/books/%", "/books/%ff", "/books/%00", "/books/%c0%ae"])(
    "finds no route for the malformed path %s",
    (path) => {
      expect(table.find("GET", path)).toEqual({ route: null, reason: "malformed-path", allow: [] });
    },
  );

  it.each(["/files/../x", "/files/./x", "/..", "/files/%2e%2e/x", "/files/.%2e/x", "/files/..%2fx", "/files/..%5cx"])(
    "finds no route for the dot segment of %s",
    (path) => {
      expect(table.find("GET", path)).toEqual({ route: null, reason: "malformed-path", allow: [] });
    },
  );

  it("lets a name that merely begins with dots through", () => {
    expect(find("GET", "/files/...")?.params).toEqual({ rest: "..." });
    expect(find("GET", "/files/.well-known")?.params).toEqual({ rest: ".well-known" });
  });

  it("does not match '*', the target of OPTIONS for the whole server", () => {
    expect(find("GET", "*")).toBeNull();
  });
});

describe("a request without a route", () => {
  const { table } = tableOf(["GET", "/a/{id}"], ["POST", "/a/b"], ["DELETE", "/{x}/b"], ["WEBSOCKET", "/socket/{id}"]);

  it("is told the methods of every route that matches its path, HEAD with GET", () => {
    const allow = ["DELETE", "GET", "HEAD", "POST"];
    expect(table.find("PUT", "/a/b")).toEqual({ route: null, reason: "method-not-allowed", allow });
    expect(table.find("PUT", "/a/%62")).toEqual({ route: null, reason: "method-not-allowed", allow });
  });

  it("is told that nothing stands at its path", () => {
    expect(table.find("PUT", "/none")).toEqual({ route: null, reason: "not-found", allow: [] });
  });

  it("is told that only a WebSocket stands at its path", () => {
    expect(table.find("GET", "/socket/1")).toEqual({ route: null, reason: "upgrade-required", allow: [] });
    expect(table.findWebSocket("/socket/1")).toMatchObject({ values: ["1"] });
    expect(table.findWebSocket("/socket/..")).toBeNull();
    expect(table.findWebSocket("/a/b")).toBeNull();
  });
});

describe("collisions", () => {
  it("throw when the same route is registered twice", () => {
    expect(() => tableOf(["GET", "/a"], ["GET", "/a"])).toThrow("GET /a is registered already");
  });

  it("throw when two patterns match the same paths, and name both", () => {
    expect(() => tableOf(["GET", "/a/{x}"], ["GET", "/a/{y}"])).toThrow(
      "GET /a/{y} collides with GET /a/{x}: both match the same paths",
    );
    expect(() => tableOf(["GET", "/a/{x:*}"], ["GET", "/a/{y:*}"])).toThrow("collides");
  });

  it("do not throw for different methods", () => {
    expect(() => tableOf(["GET", "/a"], ["POST", "/a"])).not.toThrow();
  });
});

describe("patterns", () => {
  it.each([
    ["books", "begins with '/'"],
    ["/a?b", "a character that a path cannot have"],
    ["/a\nb", "holds a character that a path cannot have"],
    ["/file.{ext}", "is not a parameter"],
    ["/{}", "is not a parameter"],
    ["/{a", "is not a parameter"],
    ["/{a:int}", "is not a parameter"],
    ["/{a}/{a}", "names the parameter 'a' twice"],
    ["/{rest:*}/x", "must stand last"],
    ["/{__proto__}", "cannot be the name of a parameter"],
    ["/a/../b", "holds the segment '..'"],
  ])("refuse %s and say why", (path, message) => {
    expect(() => parsePattern(path)).toThrow(message);
  });

  it("join at one slash", () => {
    expect(joinPaths("/api", "/books")).toBe("/api/books");
    expect(joinPaths("/api/", "/books")).toBe("/api/books");
    expect(joinPaths("/api", "/")).toBe("/api");
    expect(joinPaths("", "/books")).toBe("/books");
    expect(joinPaths("/", "/books")).toBe("/books");
  });
});
