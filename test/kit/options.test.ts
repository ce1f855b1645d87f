import { describe, expect, it } from "vitest";
import { checkedOptions, option, options } from "../../src/kit/config.js";
import { camelCase, snakeCase } from "../../src/kit/names.js";
import { is, required } from "../../src/kit/options.js";

interface Limit {
  maxRequests: number;
  windowSecs: number;
  name: string;
}
const readLimit = checkedOptions<Limit>({ maxRequests: is.integer(1), windowSecs: is.number(0), name: is.text });
const read = (given: unknown) => readLimit("RateLimitConfig", given);

describe("options", () => {
  it("Options are accepted in either spelling", () => {
    expect(read({ max_requests: 5, windowSecs: 1 })).toEqual({ maxRequests: 5, windowSecs: 1 });
  });

  it("Unknown options are refused, with a suggestion in the same spelling", () => {
    expect(() => read({ max_request: 5 })).toThrow(
      "unknown option 'max_request' in RateLimitConfig; did you mean 'max_requests'?",
    );
    expect(() => read({ maxRequest: 5 })).toThrow("did you mean 'maxRequests'?");
    expect(() => read({ allowedMaxRequests: 5 })).toThrow("did you mean 'maxRequests'?");
    expect(() => read({ colour: 5 })).toThrow(
      /^unknown option 'colour' in RateLimitConfig; its options are maxRequests, windowSecs, name$/,
    );
  });

  it("Options of a wrong type or value are refused, with the given and the allowed values", () => {
    expect(() => read({ maxRequests: "5" })).toThrow(
      `option 'maxRequests' in RateLimitConfig must be an integer of at least 1, not "5"`,
    );
    expect(() => read({ max_requests: 0 })).toThrow("must be an integer of at least 1, not 0");
    expect(() => read({ windowSecs: Number.NaN })).toThrow("must be a number of at least 0, not NaN");
    expect(() => read({ name: "" })).toThrow("must be a non-empty string");
  });

  it("Options are an object or absent", () => {
    expect(read(undefined)).toEqual({});
    expect(read(null)).toEqual({});
    expect(() => read([1])).toThrow("RateLimitConfig takes an object of options, not [1]");
    expect(() => read("x")).toThrow("takes an object of options");
  });

  it("Options named like members of Object.prototype are unknown", () => {
    expect(() => read({ constructor: 1 })).toThrow("unknown option 'constructor'");
    expect(() => read(JSON.parse('{"__proto__": 1}'))).toThrow("unknown option '__proto__'");
  });

  it("Required options are named if they are missing", () => {
    expect(() => required("RateLimitConfig", read({}), "name")).toThrow("option 'name' is required in RateLimitConfig");
  });
});

describe("a call", () => {
  const bucket = options(
    "tokenBucket()",
    { maxRequests: option(is.integer(1)), windowSecs: option(is.number(0)) },
    { order: ["maxRequests", "windowSecs"] },
  );
  const call = (...args: unknown[]) => bucket.readGiven(args);

  it("A call accepts an object or the contract's positions", () => {
    expect(call({ max_requests: 3 })).toEqual({ maxRequests: 3 });
    expect(call(3, 60)).toEqual({ maxRequests: 3, windowSecs: 60 });
    expect(call(undefined, 60)).toEqual({ windowSecs: 60 });
    expect(call()).toEqual({});
  });

  it("A call refuses too many positions, and wrong values", () => {
    expect(() => call(1, 2, 3)).toThrow("tokenBucket() takes at most 2 arguments");
    expect(() => call("many")).toThrow("option 'maxRequests' in tokenBucket() must be an integer");
  });
});

describe("spellings", () => {
  it("camelCase and snake_case names are converted into each other", () => {
    for (const [camel, snake] of [
      ["enableCors", "enable_cors"],
      ["halfOpenTarget", "half_open_target"],
      ["json", "json"],
      ["timeoutMs", "timeout_ms"],
    ] as const) {
      expect(snakeCase(camel)).toBe(snake);
      expect(camelCase(snake)).toBe(camel);
    }
  });
});

describe("null", () => {
  const readFill = checkedOptions({
    size: is.integer(1),
    fill: (value: unknown) => (value === null ? undefined : "null"),
  });

  it("A null option counts as not given, except if null is one of its values", () => {
    expect(readFill("a test", { size: null })).toEqual({});
    expect(readFill("a test", { fill: null })).toEqual({ fill: null });
  });
});
