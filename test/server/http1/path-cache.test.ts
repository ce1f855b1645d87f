import { describe, expect, it } from "vitest";
import { PathCache } from "../../../src/server/http1/path-cache.js";

describe("the cache of paths", () => {
  const get = (cache: PathCache, target: string, hash: number): string => {
    const bytes = Buffer.from(`GET ${target} HTTP/1.1`, "latin1");
    return cache.get(bytes, 4, 4 + target.length, hash);
  };

  it("The cache of paths gives each target its own text, even if their hashes are equal", () => {
    const cache = new PathCache();
    const targets = ["/", "/a", "/b", "/ab", "/ba", `/${"x".repeat(63)}`, `/${"x".repeat(64)}`, "/\xe9"];
    for (let round = 0; round < 3; round++) {
      for (const target of targets) {
        expect(get(cache, target, 7)).toBe(target);
        expect(get(cache, target, 7 + 256)).toBe(target);
        expect(get(cache, target, -1)).toBe(target);
      }
    }
  });
});
