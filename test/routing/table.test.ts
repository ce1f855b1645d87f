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

  it("A static segment takes precedence over a parameter, and a parameter over a wildcard", () => {
    expect(find("GET", "/books/new")?.path).toBe("/books/new");
    expect(find("GET", "/books/old")).toEqual({ path: "/books/{id}", params: { id: "old" } });
    expect(find("GET", "/files/a/info")).toEqual({ path: "/files/{name}/info", params: { name: "a" } });
    expect(find("GET", "/files/a/b")).toEqual({ path: "/files/{rest:*}", params: { rest: "a/b" } });
  });

  it("The search goes back if a static segment leads nowhere", () => {
    expect(find("GET", "/books/new/pages/3")).toEqual({
      path: "/books/{id}/pages/{page}",
      params: { id: "new", page: "3" },
    });
  });

  it("A route is searched only among those of the method", () => {
    expect(find("POST", "/books/new")).toEqual({ path: "/books/{id}", params: { id: "new" } });
    expect(find("DELETE", "/books/new")).toBeNull();
  });

  it("A HEAD request falls back to the GET route", () => {
    expect(find("HEAD", "/books/7")?.params).toEqual({ id: "7" });
    expect(find("HEAD", "/head-only")?.path).toBe("/head-only");
    expect(find("GET", "/head-only")).toBeNull();
  });

  it("A wildcard matches the rest of the path, even if it is empty", () => {
    expect(find("GET", "/files/")).toEqual({ path: "/files/{rest:*}", params: { rest: "" } });
    expect(find("GET", "/files")).toBeNull();
  });

  it("A parameter does not match an empty segment", () => {
    expect(find("GET", "/books/")).toBeNull();
    expect(find("GET", "/books//pages/1")).toBeNull();
  });

  it("A path with a trailing slash is different from one without", () => {
    expect(find("GET", "/books/new/")).toBeNull();
  });

  it("A parameter is decoded once, and keeps an encoded slash", () => {
    expect(find("GET", "/books/a%20b")?.params).toEqual({ id: "a b" });
    expect(find("GET", "/books/a%2Fb")?.params).toEqual({ id: "a/b" });
    expect(find("GET", "/books/%2541")?.params).toEqual({ id: "%41" });
    expect(find("GET", "/na%C3%AFve/1")?.params).toEqual({ id: "1" });
    expect(find("GET", "/b%6Foks/new")?.path).toBe("/books/new");
  });

  it("Names of Object.prototype are plain strings in a path", () => {
    expect(find("GET", "/books/__proto__")?.params["id"]).toBe("__proto__");
    expect(find("GET", "/constructor")).toBeNull();
  });

  it.each(["/books/%zz", "/books/%", "/books/%ff", "/books/%00", "/books/%c0%ae"])(
    "The malformed path %s matches no route",
    (path) => {
      expect(table.find("GET", path)).toEqual({ route: null, reason: "malformed-path", allow: [] });
    },
  );

  it.each(["/files/../x", "/files/./x", "/..", "/files/%2e%2e/x", "/files/.%2e/x", "/files/..%2fx", "/files/..%5cx"])(
    "The path %s with a dot segment matches no route",
    (path) => {
      expect(table.find("GET", path)).toEqual({ route: null, reason: "malformed-path", allow: [] });
    },
  );

  it("A name that only begins with dots matches a route", () => {
    expect(find("GET", "/files/...")?.params).toEqual({ rest: "..." });
    expect(find("GET", "/files/.well-known")?.params).toEqual({ rest: ".well-known" });
  });

  it("The target '*' of OPTIONS matches no route", () => {
    expect(find("GET", "*")).toBeNull();
  });
});

describe("a request without a route", () => {
  const { table } = tableOf(["GET", "/a/{id}"], ["POST", "/a/b"], ["DELETE", "/{x}/b"], ["WEBSOCKET", "/socket/{id}"]);

  it("A wrong method is reported with the methods of every route that matches the path, HEAD with GET", () => {
    const allow = ["DELETE", "GET", "HEAD", "POST"];
    expect(table.find("PUT", "/a/b")).toEqual({ route: null, reason: "method-not-allowed", allow });
    expect(table.find("PUT", "/a/%62")).toEqual({ route: null, reason: "method-not-allowed", allow });
  });

  it("A path without any route is reported as not found", () => {
    expect(table.find("PUT", "/none")).toEqual({ route: null, reason: "not-found", allow: [] });
  });

  it("A path with only a WebSocket route is reported as upgrade required", () => {
    expect(table.find("GET", "/socket/1")).toEqual({ route: null, reason: "upgrade-required", allow: [] });
    expect(table.findWebSocket("/socket/1")).toMatchObject({ values: ["1"] });
    expect(table.findWebSocket("/socket/..")).toBeNull();
    expect(table.findWebSocket("/a/b")).toBeNull();
  });
});

describe("collisions", () => {
  it("The same route registered twice is refused", () => {
    expect(() => tableOf(["GET", "/a"], ["GET", "/a"])).toThrow("GET /a is registered already");
  });

  it("Two patterns that match the same paths are refused, with both names", () => {
    expect(() => tableOf(["GET", "/a/{x}"], ["GET", "/a/{y}"])).toThrow(
      "GET /a/{y} collides with GET /a/{x}: both match the same paths",
    );
    expect(() => tableOf(["GET", "/a/{x:*}"], ["GET", "/a/{y:*}"])).toThrow("collides");
  });

  it("The same pattern for different methods is accepted", () => {
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
    ["/{größe}", "its name takes a-z, A-Z, 0-9, '_', '$' and '-', and it begins with no digit or '-'"],
    ["/{1}", "its name takes a-z"],
    ["/{a:int}", "write {a}, and check its type with a schema in the option 'params' of the route"],
    ["/{a:^[0-9]$}", "write {a}, and check its type with a schema"],
    ["/{a}/{a}", "names the parameter 'a' twice"],
    ["/{rest:*}/x", "must stand last"],
    ["/{__proto__}", "cannot be the name of a parameter"],
    ["/a/../b", "holds the segment '..'"],
  ])("The pattern %s is refused with the reason", (path, message) => {
    expect(() => parsePattern(path)).toThrow(message);
  });

  it("Patterns are joined with one slash", () => {
    expect(joinPaths("/api", "/books")).toBe("/api/books");
    expect(joinPaths("/api/", "/books")).toBe("/api/books");
    expect(joinPaths("/api", "/")).toBe("/api");
    expect(joinPaths("", "/books")).toBe("/books");
    expect(joinPaths("/", "/books")).toBe("/books");
  });
});
