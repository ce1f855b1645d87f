import { expect, it } from "vitest";
import { bytesCheck } from "../../../src/orm/body/checks/text.js";
import { Refusal } from "../../../src/orm/body/refusal.js";
import fc, { runs } from "../../support/properties.js";

const traits = { nulls: false, overflow: false, source: null, limit: 1 };
const form = /^(?:[\w-]{4})*(?:[\w-]{2}(?:={0,2})|[\w-]{3}=?)?$/;

/** The bytes of base64 in one of the alphabets, null for any other text: the last group has no bits that are lost. */
function decoded(text: string): Buffer | null {
  if (/[+/]/.test(text) && /[-_]/.test(text)) return null;
  const url = text.replaceAll("+", "-").replaceAll("/", "_");
  if (!form.test(url)) return null;
  const bytes = Buffer.from(url, "base64url");
  return bytes.toString("base64url") === url.replace(/=+$/, "") ? bytes : null;
}

const alphabet = "ABCQXghwxz0189+/-_";
const character = fc.constantFrom(...alphabet, ..."====", " ", "\n", "%", ".", "é", "\0", "Ā");
const encoded = fc
  .tuple(fc.uint8Array({ maxLength: 40 }), fc.constantFrom<"base64" | "base64url">("base64", "base64url"))
  .map(([bytes, encoding]) => Buffer.from(bytes).toString(encoding));
/** Base64 with one character replaced, inserted or removed. */
const damaged = fc
  .tuple(encoded, fc.nat({ max: 60 }), fc.oneof(character, fc.constant("")), fc.nat({ max: 1 }))
  .map(([text, place, other, size]) => {
    const at = place % (text.length + 1);
    return text.slice(0, at) + other + text.slice(at + size);
  });
const short = fc.string({ unit: fc.constantFrom(..."AQgw+-=", "/", "_"), maxLength: 9 });
const hostile = fc.string({ unit: character, maxLength: 12 });

it("Base64 is accepted exactly if it is the encoding of its bytes in one alphabet, with or without padding", () => {
  let accepted = 0;
  fc.assert(
    fc.property(fc.oneof(encoded, damaged, short, hostile), (text) => {
      const result = bytesCheck(text, traits);
      const found = result instanceof Refusal ? null : Buffer.from(result as Uint8Array).toString("hex");
      if (found !== null) accepted++;
      return found === (decoded(text)?.toString("hex") ?? null);
    }),
    { numRuns: runs(5000) },
  );
  // Both results are common.
  expect(accepted).toBeGreaterThan(runs(1000));
  expect(accepted).toBeLessThan(runs(4000));
});
