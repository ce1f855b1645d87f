import { describe, expect, it } from "vitest";
import { AddressSet, plainAddress } from "../../src/http/peer/addresses.js";

describe("plainAddress", () => {
  it("plainAddress() gives every address one spelling", () => {
    expect(plainAddress("192.0.2.1")).toBe("192.0.2.1");
    expect(plainAddress("2001:DB8::1")).toBe("2001:db8::1");
    expect(plainAddress("fe80::1%eth0")).toBe("fe80::1");
  });

  it("plainAddress() extracts an IPv4 address from IPv6", () => {
    for (const text of ["::ffff:192.0.2.1", "::FFFF:192.0.2.1", "::ffff:c000:201", "0:0:0:0:0:ffff:c000:0201"]) {
      expect(plainAddress(text), text).toBe("192.0.2.1");
    }
  });

  it("plainAddress() returns null for anything that is not an address", () => {
    for (const text of [
      "",
      "localhost",
      "192.0.2",
      "192.0.2.256",
      "010.0.0.1",
      "1.2.3.4:80",
      "[::1]",
      ":::",
      "unknown",
    ]) {
      expect(plainAddress(text), text).toBeNull();
    }
  });
});

describe("a set of addresses", () => {
  const set = new AddressSet("a test", ["192.0.2.7", "10.0.0.0/8", "2001:db8::/32", "::1", "203.0.113.128/25"]);

  it("A set of addresses contains the named addresses and those in a range", () => {
    const inside = [
      "192.0.2.7",
      "10.0.0.0",
      "10.255.255.255",
      "2001:db8::1",
      "2001:db8:ffff::",
      "::1",
      "203.0.113.128",
    ];
    for (const address of inside) expect(set.has(address), address).toBe(true);
  });

  it("A set of addresses contains no other address", () => {
    const outside = ["192.0.2.8", "9.255.255.255", "11.0.0.0", "2001:db9::", "::2", "203.0.113.127", "", "nonsense"];
    for (const address of outside) expect(set.has(address), address).toBe(false);
  });

  it("A set of addresses gives the same result again, also after many other lookups", () => {
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 1500; i++) expect(set.has(`172.16.${i >> 8}.${i & 255}`)).toBe(false);
      expect(set.has("10.1.2.3")).toBe(true);
    }
  });

  it("A set of addresses knows ranges by name, and peers without an address as 'unix'", () => {
    const named = new AddressSet("a test", ["loopback", "private", "linklocal", "unix"]);
    const inside = ["127.0.0.1", "127.9.9.9", "::1", "10.1.1.1", "172.31.0.1", "192.168.1.1", "fd12::1", "169.254.1.1"];
    for (const address of [...inside, "fe80::1", ""]) expect(named.has(address), address).toBe(true);
    for (const address of ["172.32.0.1", "8.8.8.8", "2001:db8::1"]) expect(named.has(address), address).toBe(false);
  });

  it("A range of length 0 contains all addresses of its family", () => {
    const all = new AddressSet("a test", ["0.0.0.0/0"]);
    expect([all.has("8.8.8.8"), all.has("255.255.255.255"), all.has("2001:db8::1")]).toEqual([true, true, false]);
  });

  it("A set of addresses refuses anything that is neither an address nor a range", () => {
    const make = (entry: unknown) => () => new AddressSet("ipFilter", [entry as string]);
    expect(make("10.0.0.0/33")).toThrow(
      '"10.0.0.0/33" in ipFilter is not an address, a range like 10.0.0.0/8, or one of loopback, linklocal, private, unix',
    );
    for (const entry of [
      "",
      "10.0.0.0/",
      "10.0.0.0/8/8",
      "10.0.0.0/-1",
      "10.0.0.0/x",
      "example.com",
      "::/129",
      5,
      null,
    ]) {
      expect(make(entry), String(entry)).toThrow("is not an address");
    }
    expect(make("::ffff:10.0.0.0/104")).toThrow("is not an address");
    expect(make("toString")).toThrow("is not an address");
  });
});
