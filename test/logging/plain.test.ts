import { describe, expect, it } from "vitest";
import { Request } from "../../src/http/request.js";
import { plainFields } from "../../src/logging/plain.js";
import { fakeSource } from "../http/fake-source.js";

describe("plainFields", () => {
  it("JSON values are kept, and others become text", () => {
    const date = new Date(0);
    expect(
      plainFields({
        text: "a",
        number: 1.5,
        yes: true,
        nothing: null,
        missing: undefined,
        big: 12345678901234567890n,
        infinite: Number.NaN,
        symbol: Symbol("s"),
        call() {},
        date,
        url: new URL("http://a/"),
        map: new Map([["k", 1]]),
        set: new Set([1]),
        bytes: Buffer.from("abc"),
      }),
    ).toEqual({
      text: "a",
      number: 1.5,
      yes: true,
      nothing: null,
      big: "12345678901234567890",
      infinite: "NaN",
      symbol: "Symbol(s)",
      call: "[function]",
      date: "1970-01-01T00:00:00.000Z",
      url: "http://a/",
      map: { k: 1 },
      set: [1],
      bytes: "[3 bytes]",
    });
  });

  it("An error is written with its class, message, stack, properties and causes", () => {
    class UniqueViolation extends Error {
      sqlstate = "23505";
    }
    const error = new Error("outer", { cause: new UniqueViolation("inner") });
    const plain = plainFields({ error })["error"] as Record<string, unknown>;
    expect(plain).toMatchObject({
      name: "Error",
      message: "outer",
      cause: { name: "UniqueViolation", message: "inner", sqlstate: "23505" },
    });
    expect(plain["stack"]).toContain("plain.test.ts");
  });

  it("The errors of an AggregateError are written", () => {
    const error = new AggregateError([new Error("a"), new Error("b")], "both");
    expect(plainFields({ error })).toMatchObject({ error: { errors: [{ message: "a" }, { message: "b" }] } });
  });

  it("Circular, deep and wide values are cut", () => {
    const circle: Record<string, unknown> = { list: [] };
    (circle["list"] as unknown[]).push(circle);
    const error = new Error("e");
    error.cause = error;
    let deep: unknown = "bottom";
    for (let i = 0; i < 10_000; i++) deep = { deep };
    const wide = Array.from({ length: 1000 }, () => Array.from({ length: 1000 }, () => "x"));
    const plain = plainFields({ circle, error, deep, wide });
    expect(plain).toMatchObject({ circle: { list: ["[circular]"] }, error: { cause: "[circular]" } });
    expect(JSON.stringify(plain).length).toBeLessThan(50_000);
  });

  it("The same object is written twice if it is not circular", () => {
    const same = { a: 1 };
    expect(plainFields({ one: same, two: same })).toEqual({ one: { a: 1 }, two: { a: 1 } });
  });

  it("Long texts are cut in fields", () => {
    expect((plainFields({ long: "x".repeat(1_000_000) })["long"] as string).length).toBeLessThan(40_000);
  });

  it("Unreadable values never throw, and are described", () => {
    const revoked = Proxy.revocable({}, {});
    revoked.revoke();
    const hostile = {
      get getter(): never {
        throw new Error("no");
      },
      toJSON: {
        toJSON() {
          throw new Error("no");
        },
      },
      proxy: new Proxy(
        {},
        {
          ownKeys() {
            throw new Error("no");
          },
        },
      ),
      revoked: revoked.proxy,
      error: Object.defineProperty(new Error("m"), "message", {
        get() {
          throw new Error("no");
        },
      }),
    };
    expect(plainFields(hostile)).toMatchObject({
      getter: "[unreadable]",
      toJSON: "[unreadable]",
      proxy: "[unreadable]",
      revoked: "[unreadable]",
      error: { name: "Error" },
    });
    expect(plainFields(revoked.proxy as never)).toEqual({ fields: "[unreadable]" });
  });

  it("The name of a field cannot reach the prototype", () => {
    const plain = plainFields(JSON.parse('{"__proto__":{"polluted":true}}'));
    expect(Object.getPrototypeOf(plain)).toBe(Object.prototype);
    expect(JSON.stringify(plain)).toBe('{"__proto__":{"polluted":true}}');
  });

  it("A logged request shows neither headers nor query", () => {
    const request = new Request(fakeSource("GET", "/a?token=t0p", [["Authorization", "Bearer t0p"]]));
    expect(plainFields({ request })).toEqual({ request: { method: "GET", path: "/a" } });
  });
});
