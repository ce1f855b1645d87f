import { isIP } from "node:net";
import { describe, expect, it } from "vitest";
import { ipFamily } from "../../src/http/peer/ip-family.js";
import fc, { runs } from "../support/properties.js";

describe("the family of an address", () => {
  it.each([
    ["0.0.0.0", 4],
    ["255.255.255.255", 4],
    ["256.0.0.1", 0],
    ["1.2.3", 0],
    ["1.2.3.4.5", 0],
    ["01.2.3.4", 0],
    ["1.2.3.4%eth0", 0],
    [" 1.2.3.4", 0],
    ["1.2.3.4\n", 0],
    ["::", 6],
    ["::1", 6],
    ["1::", 6],
    ["1:2:3:4:5:6:7:8", 6],
    ["1:2:3:4:5:6:7::", 6],
    ["::2:3:4:5:6:7:8", 6],
    ["1:2:3:4:5:6:7:8::", 0],
    ["1:2:3:4::5:6:7:8", 0],
    ["1:2:3:4:5:6:7", 0],
    ["1:2:3:4:5:6:7:", 0],
    [":1:2:3:4:5:6:7", 0],
    [":::", 0],
    ["1::2::3", 0],
    ["12345::", 0],
    ["g::", 0],
    ["::ffff:192.0.2.1", 6],
    ["1:2:3:4:5:6:192.0.2.1", 6],
    ["1:2:3:4:5::192.0.2.1", 6],
    ["1:2:3:4:5:6::192.0.2.1", 0],
    ["192.0.2.1::", 0],
    ["::192.0.2.1:1", 0],
    ["::ffff:192.0.2", 0],
    ["fe80::1%eth0.1", 6],
    ["fe80::1%", 0],
    ["fe80::1%a b", 0],
    ["[::1]", 0],
    ["localhost", 0],
    ["", 0],
    [":", 0],
    ["1", 0],
  ])("The IP family of %j is %i", (text, family) => {
    expect(ipFamily(text)).toBe(family);
    expect(isIP(text)).toBe(family);
  });

  it("The IP family equals Node's for addresses, near-addresses and any other text", () => {
    const group = fc.stringMatching(/^[0-9a-fA-F]{0,5}$/);
    const ipv4 = fc.array(fc.integer({ min: 0, max: 260 }), { minLength: 3, maxLength: 5 }).map((all) => all.join("."));
    const tail = fc.constantFrom("", "::", ":", "%1", "%eth0", "%");
    const likely = fc
      .tuple(fc.array(fc.oneof({ weight: 9, arbitrary: group }, ipv4, fc.constant("")), { maxLength: 10 }), tail)
      .map(([groups, end]) => groups.join(":") + end);
    const signs = fc.string({ unit: fc.constantFrom(..."0123f:.%x"), maxLength: 24 });
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6(), ipv4, likely, signs, fc.string()), (text) => {
        expect(ipFamily(text)).toBe(isIP(text));
      }),
      { numRuns: runs(5000) },
    );
  });
});
