import { describe, expect, it } from "vitest";
import { decodedPath } from "../../src/http/path.js";
import fc, { runs } from "../support/properties.js";

describe("a decoded path", () => {
  it.each([
    ["/a", "/a"],
    ["/%61%2d%2E%5f%7e%30", "/a-._~0"],
    ["/caf%C3%A9/%F0%9F%93%9A", "/café/📚"],
    ["/a%20b%40c%3A", "/a%20b@c:"],
    ["/a%2Fb%2f%5C", "/a%2Fb%2f%5C"],
    ["/%25/%2541/%252F", "/%25/%2541/%252F"],
    ["/%3F%23x", "/%3F%23x"],
    ["/%00%0d%0A%1f%7F", "/%00%0d%0A%1f%7F"],
    ["/%C2%85%E2%80%A8", "/%C2%85%E2%80%A8"],
    ["/%ff%61", "/%ff%61"],
    ["/%C3%2F%A9", "/%C3%2F%A9"],
    ["/%zz%4%", "/%zz%4%"],
    ["/%61%00%62", "/a%00b"],
    ["/%61%C2%a0%62", "/a%C2%A0b"],
    ["/%%34%30", "/%%34%30"],
  ])("The decoded path of %s is %s", (path, decoded) => {
    expect(decodedPath(path)).toBe(decoded);
  });

  it("A decoded path stays the same when it is decoded again, and names the same segments", () => {
    const escaped = fc
      .uint8Array({ maxLength: 8 })
      .map((bytes) => [...bytes].map((b) => `%${b.toString(16).padStart(2, "0")}`).join(""));
    const path = fc
      .array(fc.oneof(escaped, fc.constantFrom("/", "a", "%", "%4", "é")))
      .map((pieces) => `/${pieces.join("")}`);
    const decode = (text: string): string | null => {
      try {
        return decodeURIComponent(text);
      } catch {
        return null;
      }
    };
    fc.assert(
      fc.property(path, (raw) => {
        const once = decodedPath(raw);
        expect(decodedPath(once)).toBe(once);
        expect(once.split("/").map(decode)).toEqual(raw.split("/").map(decode));
      }),
      { numRuns: runs(1000) },
    );
  });
});
