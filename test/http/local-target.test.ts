import { Response } from "stoa";
import { describe, expect, it } from "vitest";
import fc, { runs } from "../support/properties.js";

/** The pieces that addresses of other sites are built from, with the characters that browsers drop or take for others. */
const pieces = [
  ...["/", "//", "\\", ".", "..", "%2e", "%2E%2e", "%2f", "%5c", ":", "@", "?", "#", "&", "=", "%"],
  ...[
    "\t",
    "\n",
    "\r",
    "\0",
    "\x0b",
    "\x1f",
    "\x7f",
    " ",
    "\u00a0",
    "\u2028",
    "\ufeff",
    "\u3002",
    "\uff0f",
    "\uff3c",
    "\ud800",
  ],
  ...["evil.example", "http:", "https:", "javascript:", "a", "é", "[::1]", "0x7f.1"],
];
const bases = ["https://site.example/", "http://site.example:8080/a/b?c#d", "https://site.example//odd//path"];

describe("the target of a local redirect", () => {
  it("A local redirect leads to the same site for any target, from any page of it", () => {
    const target = fc.array(fc.constantFrom(...pieces), { maxLength: 8 }).map((list) => list.join(""));
    fc.assert(
      fc.property(
        fc.oneof(
          target,
          target.map((text) => `/${text}`),
          fc.string(),
        ),
        (text) => {
          const location = Response.redirectLocal(text, "/home").headers.get("location")!;
          expect(location).toMatch(/^\/(?!\/)[\x21-\x7e]*$/);
          for (const base of bases) expect(new URL(location, base).origin).toBe(new URL(base).origin);
        },
      ),
      { numRuns: runs(3000) },
    );
  });

  it("A target with a backslash or a control character goes to the fallback", () => {
    for (const target of ["/a\\b", "/a\\..\\..\\/evil.example", "/a\x7f", "/a\tb", "/a\0"]) {
      expect(Response.redirectLocal(target, "/home").headers.get("location")).toBe("/home");
    }
  });

  it("A target that the client's own site can have is kept", () => {
    for (const target of [
      "/",
      "/books?page=2#top",
      "/a/../b",
      "/a//b",
      "/?next=//evil.example",
      "/%2f%2fevil.example",
      "/@a:b",
    ]) {
      expect(Response.redirectLocal(target, "/home").headers.get("location")).toBe(target);
    }
  });
});
