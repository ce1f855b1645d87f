import { expect, it } from "vitest";
import { didYouMean } from "../../src/kit/suggest.js";

it("A misspelt name is answered with the nearest one, one inside of it, or the only one that begins alike", () => {
  expect(didYouMean("databse", ["database", "models"])).toBe("; did you mean 'database'?");
  expect(didYouMean("allowOrigins", ["origins", "maxAge"])).toBe("; did you mean 'origins'?");
  expect(didYouMean("retries", ["retry", "timeout"])).toBe("; did you mean 'retry'?");
  expect(didYouMean("maxRetries", ["maxAttempts", "maxDeliveries"])).toBe("");
  expect(didYouMean("colour", ["timeout"])).toBe("");
});
