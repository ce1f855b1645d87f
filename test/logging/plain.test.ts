import { describe, expect, it } from "vitest";
import { Request } from "../../src/http/request.js";
import { plainFields } from "../../src/logging/plain.js";
import { fakeSource } from "../http/fake-source.js";

describe("plainFields", () => {
  it("keeps JSON values and makes text of those that JSON lacks", () => {
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

  it("writes an error with its class, message, stack, properties and causes", () => {
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

  it("writes the errors of an AggregateError", () => {
    const error = new AggregateError([new Error("a"), new Error("b")], "both");
    expect(plainFields({ error })).toMatchObject({ error: { errors: [{ message: "a" }, { message: "b" }] } });
  });

  it("ends circles and deep or wide values", () => {
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

  it("writes the same object twice where it is no circle", () => {
    const same = { a: 1 };
    expect(plainFields({ one: same, two: same })).toEqual({ one: { a: 1 }, two: { a: 1 } });
  });

  it("cuts long text", () => {
    expect((plainFields({ long: "x".repeat(1_000_000) })["long"] as string).length).toBeLessThan(40_000);
  });

  it("never throws, and says what could not be read", () => {
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

  it("does not reach the prototype through a field's name", () => {
    const plain = plainFields(JSON.parse('{"__proto__":{"polluted":true}}'));
    expect(Object.getPrototypeOf(plain)).toBe(Object.prototype);
    expect(JSON.stringify(plain)).toBe('{"__proto__":{"polluted":true}}');
  });

  it("shows neither headers nor query of a request", () => {
    const request = new Request(fakeSource("GET", "/a?token=t0p", [["Authorization", "Bearer t0p"]]));
    expect(plainFields({ request })).toEqual({ request: { method: "GET", path: "/a" } });
  });
});
