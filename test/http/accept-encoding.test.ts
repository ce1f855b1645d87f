import { describe, expect, it } from "vitest";
import { acceptedCodings, type ContentCoding, codingNegotiator } from "../../src/http/fields/accept-encoding.js";
import fc from "../support/properties.js";

const both: readonly ContentCoding[] = ["br", "gzip"];

describe("acceptedCodings", () => {
  it.each<[string, readonly string[]]>([
    ["gzip", ["gzip"]],
    ["GZip", ["gzip"]],
    ["x-gzip", ["gzip"]],
    ["br", ["br"]],
    ["gzip, deflate, br", ["br", "gzip"]],
    ["gzip;q=1.0, br;q=0.5", ["gzip", "br"]],
    ["gzip ; q=0.5 ,br; Q=0.4", ["gzip", "br"]],
    ["gzip;q=0.001", ["gzip"]],
    ["gzip;q=0", []],
    ["gzip;q=0.000", []],
    ["gzip;q=0, br", ["br"]],
    ["*", ["br", "gzip"]],
    ["*;q=0", []],
    ["*;q=0, gzip", ["gzip"]],
    ["gzip;q=0, *", ["br"]],
    ["identity", []],
    ["identity, gzip;q=0.5", []],
    ["identity;q=0.5, gzip;q=0.4, br;q=0.6", ["br"]],
    ["identity;q=0, *;q=0", []],
    ["gzip, identity", ["gzip"]],
    ["deflate, zstd", []],
    ["", []],
    [",,", []],
    ["gzip;q=2", []],
    ["gzip;q=abc", []],
    ["gzip;q=-1", []],
    ["gzip;q=0.1234", []],
    ["gzip;level=9", []],
    ["gzip, gzip;q=0", []],
    ["gzipped, xgzip, br-2", []],
  ])("The accepted codings of %j are %j", (field, expected) => {
    expect(acceptedCodings(field, both)).toEqual(expected);
  });

  it("A coding that is not offered is never accepted", () => {
    expect(acceptedCodings("br, gzip, *", ["gzip"])).toEqual(["gzip"]);
    expect(acceptedCodings("br", ["gzip"])).toEqual([]);
  });

  const coding = fc.constantFrom("gzip", "br", "identity", "*", "deflate", "x");
  const quality = fc.integer({ min: 0, max: 1000 }).map((thousandths) => (thousandths / 1000).toFixed(3));
  const preferences = fc.uniqueArray(fc.tuple(coding, quality), { selector: ([name]) => name, maxLength: 6 });

  it("Accepted codings have a weight above 0 and not below the plain body's, and are sorted by weight", () => {
    fc.assert(
      fc.property(preferences, fc.constantFrom(",", ", ", " ,\t"), (items, comma) => {
        const weights = new Map<string, number>(items.map(([name, q]) => [name, Number(q)]));
        const weightOf = (name: string): number => weights.get(name) ?? weights.get("*") ?? 0;
        const given = acceptedCodings(items.map(([name, q]) => `${name};q=${q}`).join(comma), both);
        for (const name of both) {
          const wanted = weightOf(name) > 0 && weightOf(name) >= (weights.get("identity") ?? 0);
          expect(given.includes(name)).toBe(wanted);
        }
        if (given.length === 2) expect(weightOf(given[0]!)).toBeGreaterThanOrEqual(weightOf(given[1]!));
      }),
    );
  });

  it("Accepted codings do not depend on the order in which the client names them", () => {
    fc.assert(
      fc.property(preferences, (items) => {
        const texts = items.map(([name, q]) => `${name};q=${q}`);
        expect(acceptedCodings([...texts].reverse().join(","), both)).toEqual(acceptedCodings(texts.join(","), both));
      }),
    );
  });

  it("Any text gives only offered codings, each once", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const given = acceptedCodings(text, both);
        expect(new Set(given).size).toBe(given.length);
        expect(given.every((name) => both.includes(name))).toBe(true);
      }),
    );
  });
});

describe("codingNegotiator", () => {
  it("A client without Accept-Encoding gets no coding", () => {
    expect(codingNegotiator(both)(undefined)).toEqual([]);
  });

  it("The negotiator gives the same result again, for more fields than it caches", () => {
    const negotiate = codingNegotiator(both);
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 300; i++) {
        const field = `gzip;q=${(i % 10) / 10}, x-${i}`;
        expect(negotiate(field)).toEqual(acceptedCodings(field, both));
      }
    }
  });
});
