import { describe, expect, it } from "vitest";
import { forRoute, type Middleware, type RouteInfo, type Slot } from "../../src/pipeline/middleware.js";

const forAll = [
  "request-id",
  "tracing",
  "logging",
  "metrics",
  "cors",
  "security-headers",
  "compression",
  "etag",
] as const;
const forUsers = ["rate-limit", "session", "csrf", "user", "guards", "cache", "circuit-breaker"] as const;
const outsideIn: readonly Slot[] = [...forAll, "ip-filter", ...forUsers];

const route: RouteInfo = { pattern: "/", methods: ["GET"], websocket: false, options: {}, internal: false };
const named = (name: string, slot?: Slot): Middleware => ({ name, ...(slot && { slot }), before() {} });
const namesOf = (middleware: readonly Middleware[], info = route) => forRoute(middleware, info).map(({ name }) => name);

describe("the middleware of a route", () => {
  it("Middleware runs in the order of the slots, whatever order it was enabled in", () => {
    const enabled = outsideIn.map((slot) => named(slot, slot));
    expect(namesOf(enabled.toReversed())).toEqual(outsideIn);
  });

  it("Middleware runs in the given order within a slot, and without a slot among the application's own", () => {
    const given = [named("guards", "guards"), named("b"), named("a", "user"), named("c"), named("csrf", "csrf")];
    expect(namesOf(given)).toEqual(["csrf", "b", "a", "c", "guards"]);
  });

  it("Internal routes of the framework have no middleware that is for users", () => {
    const enabled = [...outsideIn.map((slot) => named(slot, slot)), named("own")];
    expect(namesOf(enabled, { ...route, internal: true })).toEqual([...forAll, "ip-filter"]);
  });

  it("A slot that does not exist is refused, with the one that was meant", () => {
    const misspelt = { name: "tenant", slot: "trusted-host" as Slot, before() {} };
    expect(() => forRoute([misspelt], route)).toThrow(
      "the middleware 'tenant' cannot be at slot 'trusted-host'; did you mean 'trusted-hosts'?",
    );
  });

  it("Middleware that is made for a route keeps its slot and name, and can be left out", () => {
    const made: Middleware = { name: "made", slot: "cors", early: true, forRoute: () => ({ before() {} }) };
    const left: Middleware = { name: "left", slot: "etag", forRoute: () => null };
    expect(forRoute([left, named("own"), made], route)).toMatchObject([
      { name: "made", slot: "cors", early: true },
      {},
    ]);
  });
});
