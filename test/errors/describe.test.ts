import { describe, expect, it } from "vitest";
import { causesOf, describeError } from "../../src/errors/describe.js";
import { hostileErrors } from "./hostile-errors.js";

describe("describeError", () => {
  it("describeError() names the class of the thrown error", () => {
    class Broken extends Error {}
    class BrokenType extends TypeError {}
    class Named extends Error {
      override name = "ChosenName";
    }
    expect(describeError(new TypeError("m"))).toMatchObject({ name: "TypeError", message: "m" });
    expect(describeError(new Broken("m")).name).toBe("Broken");
    expect(describeError(new BrokenType("m")).name).toBe("BrokenType");
    expect(describeError(new Named("m")).name).toBe("ChosenName");
    expect(describeError(new DOMException("m", "AbortError")).name).toBe("AbortError");
  });

  it("describeError() returns the stack", () => {
    expect(describeError(new Error("m")).stack).toContain("describe.test.ts");
    expect(describeError("m").stack).toBeUndefined();
  });

  it("describeError() describes values that are not errors", () => {
    expect(describeError("text")).toMatchObject({ name: "String", message: "text" });
    expect(describeError(42)).toMatchObject({ name: "Number", message: "42" });
    expect(describeError(null)).toMatchObject({ name: "null", message: "null was thrown in place of an error" });
    expect(describeError({ a: 1 })).toMatchObject({ name: "Object", message: "{ a: 1 }" });
    expect(describeError({ name: "Foreign", message: "m" })).toMatchObject({ name: "Foreign", message: "m" });
  });

  it.each(hostileErrors())("describeError() describes %s without throwing, in bounds", (_, thrown) => {
    const { name, message, stack } = describeError(thrown);
    expect(typeof name).toBe("string");
    expect(name).not.toBe("");
    expect(typeof message).toBe("string");
    expect(message.length).toBeLessThan(10_000);
    expect(stack?.length ?? 0).toBeLessThan(40_000);
  });
});

describe("causesOf", () => {
  it("causesOf() lists causes from the nearest on and ends a circle", () => {
    const inner: Error = new Error("inner");
    const middle = new Error("middle", { cause: inner });
    const outer = new Error("outer", { cause: middle });
    inner.cause = middle;
    expect(causesOf(outer)).toEqual([middle, inner]);
  });

  it("causesOf() ends after the limit", () => {
    let error = new Error("0");
    for (let i = 0; i < 100; i++) error = new Error(String(i), { cause: error });
    expect(causesOf(error)).toHaveLength(8);
  });
});
