import { describe, expect, it, vi } from "vitest";
import { MemoryRevocations } from "../../../src/auth/jwt/revocations.js";
import { TokenMemory } from "../../../src/auth/jwt/verified-token.js";

const token = { claims: {}, times: { exp: 1, nbf: 0, iat: 0 }, id: "a", subject: null, authority: null };

describe("remembered tokens", () => {
  it("A remembered token is found by its text and its signature together", () => {
    const memory = new TokenMemory(10);
    memory.add("header.payload", "signature", token);
    expect(memory.find("header.payload", "signature")).toBe(token);
    for (const signature of ["", "signaturE", "signature2", "signatur", "sİgnature"]) {
      expect(memory.find("header.payload", signature), signature).toBeNull();
    }
    expect(memory.find("header.payloaD", "signature")).toBeNull();
  });

  it("The number of remembered tokens is limited, and the oldest is dropped", () => {
    const memory = new TokenMemory(3);
    for (const text of ["a", "b", "c", "d"]) memory.add(text, "s", token);
    expect([memory.size, memory.find("a", "s"), memory.find("d", "s")]).toEqual([3, null, token]);
  });

  it("No token is remembered if the limit is 0", () => {
    const memory = new TokenMemory(0);
    memory.add("a", "s", token);
    expect([memory.size, memory.find("a", "s")]).toEqual([0, null]);
  });
});

describe("revoked tokens in memory", () => {
  it("Revoked tokens are kept until they expire, and dropped afterwards", () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const revocations = new MemoryRevocations();
    const until = Date.now() / 1000 + 100;
    for (let i = 0; i < 1000; i++) revocations.add(`early ${i}`, until);
    revocations.add("late", until + 1_000_000);
    vi.setSystemTime(Date.now() + 101_000);
    for (let i = 0; i < 100; i++) revocations.add(`more ${i}`, until + 1_000_000);
    expect(revocations.size).toBe(101);
    expect([revocations.has("late"), revocations.has("more 0"), revocations.has("early 0")]).toEqual([
      true,
      true,
      false,
    ]);
    vi.useRealTimers();
  });

  it("A second revocation of the same token is reported as such", () => {
    const revocations = new MemoryRevocations();
    expect([revocations.add("a", 9e9), revocations.add("a", 9e9), revocations.add("b", 9e9)]).toEqual([
      true,
      false,
      true,
    ]);
  });

  it("A revocation that is moved to a later time needs no further room", () => {
    const revocations = new MemoryRevocations(1);
    const until = Date.now() / 1000 + 60;
    expect(revocations.add("subject:ada", until, undefined, 5)).toBe(true);
    expect(revocations.add("subject:ada", until, undefined, 7)).toBe(true);
    expect([revocations.has("subject:ada", 7), revocations.has("subject:ada", 8)]).toEqual([true, false]);
  });

  it("Revoked tokens are never dropped for lack of space, and the limit is an error", () => {
    const revocations = new MemoryRevocations(2);
    revocations.add("a", 9e9);
    revocations.add("b", 9e9);
    expect(() => revocations.add("c", 9e9)).toThrow("more than 2 tokens are revoked at once");
    expect(revocations.has("a")).toBe(true);
  });
});
