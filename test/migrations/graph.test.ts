import { describe, expect, it } from "vitest";
import { MigrationError } from "../../src/migrations/errors.js";
import { buildGraph, requireOneHead } from "../../src/migrations/graph.js";
import type { Migration } from "../../src/migrations/operation.js";

function named(name: string, dependsOn: readonly string[] = [], replaces: readonly string[] = []): Migration {
  return { name, dependsOn, replaces, transaction: true, operations: [], checksum: name };
}

const names = (migrations: readonly Migration[]): string[] => migrations.map(({ name }) => name);

describe("the order of migrations", () => {
  it("A migration comes after all that it depends on, whatever the names", () => {
    const graph = buildGraph([named("a", ["c"]), named("b", ["a"]), named("c")]);
    expect(names(graph.order)).toEqual(["c", "a", "b"]);
    expect(graph.heads).toEqual(["b"]);
  });

  it("Migrations without an order by dependencies are ordered by name", () => {
    const graph = buildGraph([named("3", ["2b", "2a"]), named("2b", ["1"]), named("1"), named("2a", ["1"])]);
    expect(names(graph.order)).toEqual(["1", "2a", "2b", "3"]);
  });

  it("The graph knows all migrations before and after one, also indirect ones", () => {
    const graph = buildGraph([named("1"), named("2", ["1"]), named("3", ["2"]), named("x", ["1"])]);
    expect([...graph.before("3")].sort()).toEqual(["1", "2"]);
    expect([...graph.after("1")].sort()).toEqual(["2", "3", "x"]);
    expect([...graph.after("2")]).toEqual(["3"]);
  });

  it("A missing dependency is reported with the probable name", () => {
    expect(() => buildGraph([named("0001_initial"), named("0002_year", ["0001_inital"])])).toThrow(
      new MigrationError("0002_year depends on 0001_inital, which is not there; did you mean '0001_initial'?"),
    );
  });

  it("A circle of dependencies is reported with its whole chain and nothing else", () => {
    const circle = [named("1"), named("2", ["1", "4"]), named("3", ["2"]), named("4", ["3"]), named("0", ["3"])];
    expect(() => buildGraph(circle)).toThrow(/in a circle: 3 -> 2 -> 4 -> 3$/);
  });

  it("Two last migrations are refused with an error that names both and the remedy", () => {
    const graph = buildGraph([named("1"), named("2a", ["1"]), named("2b", ["1"])]);
    expect(() => requireOneHead(graph)).toThrow(
      "2 migrations are the last: 2a and 2b; `stoa migrate make --merge` writes one that comes after them",
    );
    expect(() => requireOneHead(buildGraph([]))).not.toThrow();
  });

  it("A migration is found by the beginning of its name, unless that is ambiguous", () => {
    const graph = buildGraph([named("0001_initial"), named("0002_year", ["0001_initial"])]);
    expect(graph.find("0002").name).toBe("0002_year");
    expect(() => graph.find("000")).toThrow("'000' may be 0001_initial or 0002_year: write more of the name");
    expect(() => graph.find("0002_yaer")).toThrow("there is no migration '0002_yaer'; did you mean '0002_year'?");
    expect(() => graph.find("")).toThrow("there is no migration ''");
  });
});

describe("squashed migrations", () => {
  const old = [named("1"), named("2", ["1"]), named("3", ["2"])];
  const squashed = named("2_squashed", [], ["1", "2"]);
  const all = [...old, squashed];

  it("A squashed migration takes the place of the replaced ones on a database without them", () => {
    const graph = buildGraph(all);
    expect(names(graph.order)).toEqual(["2_squashed", "3"]);
    expect(graph.adopted).toEqual([]);
    expect([...graph.before("3")]).toEqual(["2_squashed"]);
    expect(graph.find("1").name).toBe("2_squashed");
  });

  it("A squashed migration counts as applied if all that it replaces is applied", () => {
    const graph = buildGraph(all, new Set(["1", "2"]));
    expect(names(graph.order)).toEqual(["2_squashed", "3"]);
    expect(names(graph.adopted)).toEqual(["2_squashed"]);
  });

  it("A squashed migration counts as applied also if the old files are gone", () => {
    const graph = buildGraph([squashed, named("3", ["2"])], new Set(["1", "2", "3"]));
    expect(names(graph.order)).toEqual(["2_squashed", "3"]);
    expect(names(graph.adopted)).toEqual(["2_squashed"]);
  });

  it("A recorded squashed migration counts as applied by itself", () => {
    const graph = buildGraph(all, new Set(["2_squashed"]));
    expect(names(graph.order)).toEqual(["2_squashed", "3"]);
    expect(graph.adopted).toEqual([]);
  });

  it("A squashed migration leaves the old ones in place if only some are applied", () => {
    const graph = buildGraph([...all, named("4", ["2_squashed", "3"])], new Set(["1"]));
    expect(names(graph.order)).toEqual(["1", "2", "3", "4"]);
    expect([...graph.before("4")].sort()).toEqual(["1", "2", "3"]);
  });

  it("A squashed migration is refused if only some are applied and the rest has no file", () => {
    expect(() => buildGraph([squashed, named("3", ["2"])], new Set(["1"]))).toThrow(
      "2_squashed replaces 1, 2, of which this database has only 1, and there is no file of 2 any more: bring it back until it is applied here",
    );
  });

  it("A squashed migration can replace other squashed ones", () => {
    const outer = named("3_squashed", [], ["2_squashed", "3"]);
    for (const recorded of [[], ["1", "2", "3"], ["2_squashed", "3"]]) {
      expect(names(buildGraph([...all, outer], new Set(recorded)).order)).toEqual(["3_squashed"]);
    }
    expect(names(buildGraph([...all, outer], new Set(["2_squashed"])).order)).toEqual(["2_squashed", "3"]);
    expect(names(buildGraph([...all, outer], new Set(["1"])).order)).toEqual(["1", "2", "3"]);
    expect(buildGraph([...all, outer]).order[0]!.replaces).toEqual(["2_squashed", "1", "2", "3"]);
  });

  it("Two squashed migrations that replace the same one, or each other, are refused", () => {
    expect(() => buildGraph([...all, named("x", [], ["2", "3"])])).toThrow("2 is replaced by two squashed migrations");
    expect(() => buildGraph([named("a", [], ["b"]), named("b", [], ["a"])])).toThrow(
      "squashed migrations replace one another in a circle: a -> b -> a",
    );
  });
});
