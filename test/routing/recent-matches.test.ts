import { describe, expect, it } from "vitest";
import { parsePattern } from "../../src/routing/pattern.js";
import { RecentMatches } from "../../src/routing/recent-matches.js";
import { RouteTable, type TableRoute } from "../../src/routing/table.js";
import fc, { runs } from "../support/properties.js";

function tableOf(routes: Readonly<Record<string, readonly string[]>>): RouteTable<TableRoute> {
  const table = new RouteTable<TableRoute>();
  for (const [method, templates] of Object.entries(routes)) {
    for (const template of templates) table.add(method, { pattern: parsePattern(template) });
  }
  return table;
}

describe("repeated paths", () => {
  it("A repeated path leads to the route of its method, or to none", () => {
    const table = tableOf({ GET: ["/a/{id}"], PUT: ["/a/{key}"] });
    for (let round = 0; round < 3; round++) {
      const match = (name: string): object => ({ route: { pattern: { paramNames: [name] } }, values: ["1"] });
      expect(table.find("GET", "/a/1")).toMatchObject(match("id"));
      expect(table.find("HEAD", "/a/1")).toMatchObject(match("id"));
      expect(table.find("PUT", "/a/1")).toMatchObject(match("key"));
      expect(table.find("DELETE", "/a/1")).toMatchObject({ route: null, reason: "method-not-allowed" });
    }
  });

  it("A repeated path gives the same match as a new table, in any order", () => {
    const routes = { GET: ["/", "/{a}", "/{a}/b", "/a/{b}", "/{a}/{b}", "/a/b/{rest:*}"], PUT: ["/{a}/b", "/b/{c}"] };
    const seasoned = tableOf(routes);
    const segment = fc.constantFrom("a", "b", "c", "aa", "%61", "a%2fb", "");
    const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => `/${segments.join("/")}`);
    fc.assert(
      fc.property(fc.constantFrom("GET", "PUT", "HEAD", "POST"), path, (method, path) => {
        const fresh = tableOf(routes);
        expect(seasoned.find(method, path)).toEqual(fresh.find(method, path));
      }),
      { numRuns: runs(2000) },
    );
  });

  it("A repeated path with dot segments is refused each time", () => {
    const table = tableOf({ GET: ["/a/{b}", "/{rest:*}"] });
    for (let round = 0; round < 2; round++) {
      expect(table.find("GET", "/a/..")).toMatchObject({ route: null, reason: "malformed-path" });
    }
  });

  it("Paths are cached up to 64 characters, so that clients cannot fill the memory", () => {
    const matches = new RecentMatches<object, string>();
    const within = {};
    const match = { route: "a", values: [] };
    for (const length of [64, 65]) {
      const path = "/".padEnd(length, "a");
      matches.keep(path, within, match);
      expect(matches.at(path).path === path).toBe(length === 64);
    }
  });

  it("Cached paths that differ only at the end rarely displace each other", () => {
    const matches = new RecentMatches<object, string>();
    const paths = Array.from({ length: 64 }, (_, n) => `/books/${n}`);
    for (const path of paths) matches.keep(path, {}, { route: path, values: [] });
    expect(paths.filter((path) => matches.at(path).path === path).length).toBeGreaterThan(16);
  });
});
