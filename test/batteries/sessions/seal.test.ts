import { describe, expect, it } from "vitest";
import { encryptedSeal, signedSeal } from "../../../src/batteries/sessions/seal.js";
import fc from "../../support/properties.js";

const one = "the first secret, of more than 32 bytes";
const two = Buffer.from("the second secret, of more than 32 bytes");

describe.each([
  ["encrypted", encryptedSeal],
  ["signed", signedSeal],
] as const)("an %s seal", (_name, make) => {
  it("A sealed text is opened to the same text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        const seal = make([one], "test");
        expect(seal.open(seal.seal(text))).toBe(text);
      }),
    );
  });

  it("A sealed text is not opened by another secret, or for another purpose", () => {
    const sealed = make([one], "test").seal("hello");
    expect(make([two], "test").open(sealed)).toBeNull();
    expect(make([one], "other").open(sealed)).toBeNull();
    expect((make === encryptedSeal ? signedSeal : encryptedSeal)([one], "test").open(sealed)).toBeNull();
  });

  it("A text sealed with an old secret is opened while that secret is still listed", () => {
    const old = make([one], "test").seal("hello");
    const rotated = make([two, one], "test");
    expect(rotated.open(old)).toBe("hello");
    expect(make([two], "test").open(rotated.seal("new"))).toBe("new");
    expect(make([one], "test").open(rotated.seal("new"))).toBeNull();
  });

  it("A changed sealed text is not opened", () => {
    const seal = make([one, two], "test");
    const sealed = seal.seal(JSON.stringify({ user: 1 }));
    const letters = fc.constantFrom(..."ABCXYZabcxyz0189-_.=+/ ");
    fc.assert(
      fc.property(fc.nat(sealed.length), fc.constantFrom(0, 1, 1000), fc.string({ unit: letters }), (at, cut, put) => {
        const changed = sealed.slice(0, at) + put + sealed.slice(at + cut);
        fc.pre(changed !== sealed);
        expect(seal.open(changed)).toBeNull();
      }),
    );
    for (const text of ["", ".", "x", "a.b", "A".repeat(37), "A".repeat(10_000)]) expect(seal.open(text)).toBeNull();
  });
});

describe("sealed texts as the client sees them", () => {
  it("An encrypted text is unreadable, and never twice the same", () => {
    const seal = encryptedSeal([one], "test");
    const sealed = seal.seal("the user's name");
    expect(Buffer.from(sealed, "base64url").toString("latin1")).not.toContain("name");
    expect(seal.seal("the user's name")).not.toBe(sealed);
  });

  it("A signed text is readable", () => {
    const [body = ""] = signedSeal([one], "test").seal("readable").split(".");
    expect(Buffer.from(body, "base64url").toString()).toBe("readable");
  });
});
