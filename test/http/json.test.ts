import { describe, expect, it } from "vitest";
import { HttpError } from "../../src/errors/http-error.js";
import { isJsonType, parseJson } from "../../src/http/json/json.js";
import { findForbidden as findIn, maxJsonDepth } from "../../src/http/json/json-scan.js";
import fc, { runs } from "../support/properties.js";

const bytes = (text: string): Uint8Array => Buffer.from(text);
const findForbidden = (sent: Uint8Array) => findIn(sent, Buffer.from(sent).toString());

function refusal(input: string | Uint8Array): HttpError {
  try {
    parseJson(typeof input === "string" ? bytes(input) : input);
  } catch (error) {
    if (error instanceof HttpError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

const nested = (levels: number, inner = ""): string => "[".repeat(levels) + inner + "]".repeat(levels);

describe("accepted JSON bodies", () => {
  it.each([
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1.5e-10",
    "1E+2",
    "123456789012345678",
    '""',
    '"a"',
    '"\\u0061\\n\\"\\\\\\/\\b\\f\\r\\t"',
    '"\\uD834\\udd1e"',
    '"\\ud800"',
    '"\\u0000"',
    '"\u007f\u2028\u2029é😀"',
    "[]",
    "[[] ]",
    " [ 1 ,\t2\r\n] ",
    '[null, 1, "1", {}]',
    "{}",
    '{"":0}',
    '{"a":{"b":[1,{"c":null}]}}',
    '{"a":"b","a":"c"}',
    '{"min": -1.0e+28, "max": 1.0e+28}',
    '{"__proto":1,"constructor":"x","prototype":{}}',
    '{"text":"__proto__ and constructor"}',
    "1e308",
    "1e-999",
    "[1e0000000000300,5000,123456,1234567890123,0.1e-400,9e307]",
    `[1e100,0.${"0".repeat(400)}1e400,1${"0".repeat(307)}.5]`,
    `[${"1".repeat(308)}]`,
    `"${"1".repeat(500)}"`,
    '"1e999"',
  ])("The JSON body %s is accepted", (text) => {
    expect(parseJson(bytes(text))).toEqual(JSON.parse(text));
  });

  it("A JSON body that is a view of a larger buffer is read", () => {
    const whole = bytes('xx{"a":1}xx');
    expect(parseJson(whole.subarray(2, 9))).toEqual({ a: 1 });
  });

  it("A JSON string with half of a surrogate pair is accepted unchanged", () => {
    expect(parseJson(bytes('"\\ud800"'))).toBe("\ud800");
  });
});

describe("refused JSON bodies", () => {
  it.each([
    " ",
    "\n",
    "undefined",
    "NaN",
    "Infinity",
    "-Infinity",
    "nul",
    "True",
    "[1,]",
    "[,1]",
    "[1 2]",
    "[1",
    "1]",
    "[",
    "]",
    "{",
    "}",
    "[}",
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    '{,"a":1}',
    "{a:1}",
    "{'a':1}",
    "'a'",
    '{"a":1 "b":2}',
    '{"a" 1}',
    "{1:1}",
    "[1] x",
    "{} {}",
    "{}\n{}",
    "1 2",
    "{}\0",
    "\0",
    "[1]\u00a0",
    "01",
    "-01",
    "+1",
    "1.",
    ".5",
    "-",
    "1e",
    "1e+",
    "0x1",
    "1_000",
    "1.e1",
    "--1",
    '"a',
    '"\\x41"',
    '"\\u12"',
    '"\\u{41}"',
    '"\t"',
    '"\n"',
    '"\0"',
    '"\\a"',
    "// c\n1",
    "/* c */1",
    "[1]//",
    "<xml/>",
    "\ufeff{}",
    "{}\ufeff",
    "\u2028[]",
    "1e999",
    "-1e999",
    '{"a":[1,{"b":1E+400}]}',
    `[${"9".repeat(310)}]`,
    `${"1".repeat(250)}e90`,
    `[1,2,${"1".repeat(210)}.${"5".repeat(300)}E100]`,
    `[${`${"1".repeat(300)},`.repeat(20)}${"1".repeat(310)}]`,
    `{"a":"${"x".repeat(10_000)}","__proto__":1}`,
    `{"a":"${'\\"'.repeat(5_000)}","b":1e999}`,
    `["${"p".repeat(10_000)}",{"\\u005f_proto__":{}}]`,
    "1e0000000000400",
    "[5000,1.5e309]",
    `{"a":0.${"0".repeat(400)}1e999}`,
  ])("The JSON body %j is refused with 400", (text) => {
    expect(refusal(text)).toMatchObject({ status: 400, code: "MALFORMED_JSON" });
  });

  it("An empty body is refused with its own code", () => {
    expect(refusal("")).toMatchObject({ status: 400, code: "EMPTY_BODY" });
  });

  it.each<[string, number[]]>([
    ["a lone byte", [0xff]],
    ["a continuation alone", [0x80]],
    ["an overlong form", [0xc0, 0xaf]],
    ["an overlong form of NUL", [0xc0, 0x80]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["a pair of surrogates", [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]],
    ["a sequence cut off", [0xe2, 0x82]],
    ["beyond Unicode", [0xf4, 0x90, 0x80, 0x80]],
  ])("A JSON body with invalid UTF-8 is refused with 400: %s", (_, inside) => {
    const error = refusal(Buffer.from([0x22, ...inside, 0x22]));
    expect(error).toMatchObject({ status: 400, code: "MALFORMED_JSON", message: "The body is not valid UTF-8." });
  });

  it("A JSON body in UTF-16 is refused with 400", () => {
    expect(refusal(Buffer.from('{"a":1}', "utf16le")).status).toBe(400);
    expect(refusal(Buffer.from('\ufeff{"a":1}', "utf16le")).status).toBe(400);
  });

  it("The error of a refused JSON body shows nothing of it", () => {
    expect(refusal('{"password": hunter2}').message).not.toContain("hunter2");
  });
});

describe("the nesting of a JSON body", () => {
  it("A JSON body can have 128 levels, and not 129", () => {
    expect(maxJsonDepth).toBe(128);
    expect(parseJson(bytes(nested(128)))).toEqual(JSON.parse(nested(128)));
    const error = refusal(nested(129));
    expect(error).toMatchObject({ status: 400, code: "MALFORMED_JSON" });
    expect(error.message).toContain("deeper than 128 levels");
  });

  it("The levels of a JSON body count objects and arrays together", () => {
    const mixed = (pairs: number) => '{"a":['.repeat(pairs) + "]}".repeat(pairs);
    expect(() => parseJson(bytes(mixed(64)))).not.toThrow();
    expect(refusal(`[${mixed(64)}]`).status).toBe(400);
  });

  it("Many brackets side by side in a JSON body are not levels", () => {
    const wide = `[${Array.from({ length: 5000 }, () => "[{}]").join()}]`;
    expect(parseJson(bytes(wide))).toHaveLength(5000);
  });

  it("Brackets inside JSON strings are not levels, whatever is escaped there", () => {
    const text = "[{".repeat(500);
    for (const value of [text, `\\"${text}`, `${text}\\\\`, `\\\\\\"${text}`]) {
      expect(() => parseJson(bytes(`["${value}"]`))).not.toThrow();
    }
    expect(refusal(`["\\\\",${nested(128)}]`).message).toContain("deeper");
    expect(refusal(`["\\"",${nested(128)}]`).message).toContain("deeper");
  });

  it("A hundred thousand brackets that are never closed are refused", () => {
    expect(refusal("[".repeat(100_000)).status).toBe(400);
    expect(refusal('{"a":'.repeat(100_000)).status).toBe(400);
  });
});

describe("keys that reach a prototype", () => {
  it.each([
    '{"__proto__":{"polluted":1}}',
    '{"__proto__":null}',
    '{"a":{"__proto__":1}}',
    '[[{"a":[{"__proto__":[]}]}]]',
    '{"\\u005f_proto__":{"polluted":1}}',
    '{"\\u005F\\u005f\\u0070roto__":1}',
    '{"__pro\\u0074o__":1}',
    '{"constructor":{"prototype":{"polluted":1}}}',
    '{"a":[{"constructor":{"prototype":1}}]}',
    '{"con\\u0073tructor":{"prototype":{}}}',
    '{"constructor":{"proto\\u0074ype":{}}}',
  ])("A JSON body whose key reaches a prototype is refused: %s", (text) => {
    expect(refusal(text)).toMatchObject({ status: 400, message: "The body holds a key that is not allowed." });
    expect("polluted" in {}).toBe(false);
  });
});

describe("the order of the checks of a JSON body", () => {
  it("A forbidden key is named before a number that is out of range, wherever it stands", () => {
    for (const text of ['{"__proto__":1,"a":1e999}', '{"a":1e999,"__proto__":1}']) {
      expect(refusal(text).message).toBe("The body holds a key that is not allowed.");
    }
  });

  it("The longest forbidden key is found if each of its characters is an escape", () => {
    const escaped = (text: string) =>
      [...text].map((character) => `\\u00${character.charCodeAt(0).toString(16)}`).join("");
    const text = `{"${escaped("constructor")}":{"${escaped("prototype")}":1}}`;
    expect(refusal(text).message).toBe("The body holds a key that is not allowed.");
  });
});

describe("large JSON bodies", () => {
  it("A JSON number of a million digits is refused without delay", () => {
    expect(refusal(`{"a":${"1".repeat(1_000_000)}}`).message).toContain("out of range");
  });

  it("A JSON fraction of a million digits is a finite number", () => {
    expect(parseJson(bytes(`0.${"1".repeat(1_000_000)}`))).toBeCloseTo(0.1111);
  });

  it("A JSON number that is too large is found at any position", () => {
    const long = "7".repeat(310);
    for (let padding = 0; padding < 210; padding++) {
      expect(refusal(`["${"x".repeat(padding)}",${long}]`).status).toBe(400);
    }
  });
});

describe("the content type of JSON", () => {
  it.each([
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    "application/json;charset=UTF-8",
    'application/json; charset="utf-8"',
    "application/json ; a=b ; c=d",
    "application/json;",
    "application/problem+json",
    "application/vnd.api+json; version=1",
  ])("The content type %s is JSON", (type) => {
    expect(isJsonType(type)).toBe(true);
  });

  it.each([
    "",
    "text/plain",
    "text/json",
    "application/jsonx",
    "application/json\ta",
    "application/json garbage",
    "application/json, application/json",
    "application/json, text/plain",
    "application/json; charset",
    "application/json; charset=utf-8 x",
    "application/json; =x",
    'application/json; a="b',
    "application/json\r\nX: 1",
    "xapplication/json",
    "application/x-www-form-urlencoded; a=application/json",
    "+json",
    "application/+json",
    "application/json+xml",
  ])("The content type %j is not JSON", (type) => {
    expect(isJsonType(type)).toBe(false);
  });

  it("A content type of any length is checked for JSON without delay", () => {
    const blanks = " ".repeat(200_000);
    expect(isJsonType(`application/json;${blanks}x`)).toBe(false);
    expect(isJsonType(`application/json${blanks};${blanks}a=b${blanks};${blanks}\u0001`)).toBe(false);
    expect(isJsonType(`application/${"a".repeat(200_000)}`)).toBe(false);
    expect(isJsonType(`application/json${"; a=b".repeat(5000)}`)).toBe(true);
  });
});

describe("a forbidden key of a JSON body", () => {
  it.each([
    '{"__proto__":1}',
    '{"a":[{"b":{"__proto__" : null}}]}',
    '{"\\u005f_proto__":1}',
    `{"${[..."__proto__"].map((character) => `\\u00${character.charCodeAt(0).toString(16)}`).join("")}":1}`,
    '{"constructor":{"prototype":{}}}',
    '{"constructor" : {"a":[1,{"prototype":2}],"b":"}","prototype":1}}',
    '{"x":1,"con\\u0073tructor":{"proto\\u0074ype":{}}}',
  ])("A forbidden key of a JSON body is refused: %s", (text) => {
    expect(refusal(text)).toMatchObject({ status: 400, message: "The body holds a key that is not allowed." });
  });

  it.each([
    '{"prototype":{"constructor":1}}',
    '{"constructor":[{"prototype":1}]}',
    '{"constructor":{"a":{"prototype":1}}}',
    '{"constructor":1,"a":{"prototype":1}}',
    '["__proto__",{"a":"__proto__"}]',
    '{"a":"\\"__proto__\\":1"}',
    '{"__proto":1,"__proto___":2,"\\u0041":"proto"}',
    `{"text":${JSON.stringify('"__proto__":'.repeat(10))}}`,
  ])("A key or text of a JSON body that is not forbidden is accepted: %s", (text) => {
    expect(parseJson(bytes(text))).toEqual(JSON.parse(text));
  });
});

describe("the checks of a JSON body", () => {
  it("The checks of a JSON body agree with a walk of the value, for any document", () => {
    const key = fc.constantFrom("__proto__", "constructor", "prototype", "a", 'quote"', "\\");
    const { document } = fc.letrec<{ document: unknown }>((tie) => ({
      document: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<unknown>(1, -1.5e300, "__proto__", "x\\", '"', null),
        fc.array(tie("document"), { maxLength: 3 }),
        fc.array(fc.tuple(key, tie("document")), { maxLength: 3 }).map((entries) => Object.fromEntries(entries)),
      ),
    }));
    const escapeSome = (text: string): string =>
      text.replace(/[cop]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
    fc.assert(
      fc.property(document, fc.boolean(), fc.constantFrom(0, 1), (value, escaped, indent) => {
        const text = JSON.stringify(value, null, indent);
        const sent = bytes(escaped ? escapeSome(text) : text);
        if (pollutes(value)) expect(() => parseJson(sent)).toThrow("key that is not allowed");
        else expect(parseJson(sent)).toEqual(value);
      }),
      { numRuns: runs(1000) },
    );
  });

  it("The checks of a JSON body agree with a walk of the value at any place in memory and in a long body", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "\\", '"', "é", "[", "1", "\n", "\u0001"), maxLength: 60 });
    const { document } = fc.letrec<{ document: unknown }>((tie) => ({
      document: fc.oneof(
        { maxDepth: 3 },
        fc.oneof(text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger(), fc.boolean()),
        fc.constantFrom<unknown>("x".repeat(600), "\\".repeat(300), `${"y".repeat(30)}"`, null),
        fc.array(tie("document"), { maxLength: 4 }),
        fc.dictionary(fc.oneof(text, fc.constantFrom("__proto__", "constructor", "prototype")), tie("document"), {
          maxKeys: 4,
          noNullPrototype: true,
        }),
      ),
    }));
    fc.assert(
      fc.property(document, fc.integer({ min: 0, max: 3 }), fc.constantFrom(0, 1, 8), (value, offset, indent) => {
        const sent = bytes(JSON.stringify([value, "z".repeat(512)], null, indent));
        const placed = new Uint8Array(sent.length + 8).subarray(offset, offset + sent.length);
        placed.set(sent);
        expect(findForbidden(placed)).toBe(pollutes(value) ? "key" : null);
      }),
      { numRuns: runs(1000) },
    );
  });

  it("A JSON number is out of range exactly if JSON.parse makes it infinite", () => {
    const limit = (2n ** 1024n - 2n ** 970n).toString();
    const digits = fc.string({ unit: fc.constantFrom(..."0123456789"), maxLength: 30 });
    const filler = fc.constantFrom("", "0".repeat(300), "9".repeat(200), "0".repeat(500), limit.slice(1));
    const integer = fc.oneof(
      fc.constant("0"),
      fc
        .tuple(fc.constantFrom("1", "2", "9", "17976931348623157", limit, limit.slice(0, 308)), digits, filler)
        .map((all) => all.join("")),
    );
    const fraction = fc.oneof(
      fc.constant(""),
      fc.tuple(filler, digits).map((all) => `.${all.join("")}5`),
    );
    const exponent = fc.oneof(
      fc.constant(""),
      fc
        .tuple(
          fc.constantFrom("e", "E", "e+", "e-"),
          fc.constantFrom("", "0", "0".repeat(400)),
          fc.integer({ min: 0, max: 900 }),
        )
        .map((all) => all.join("")),
      fc.constantFrom(`e-${"9".repeat(400)}`, `e${"9".repeat(400)}`, "e308", "e309", "e307", "e-1"),
    );
    const sign = fc.constantFrom("", "-");
    const padding = fc.constantFrom("", "x".repeat(600));
    fc.assert(
      fc.property(sign, integer, fraction, exponent, padding, (...[minus, whole, part, power, padded]) => {
        const number = minus + whole + part + power;
        const found = Number.isFinite(JSON.parse(number)) ? null : "number";
        expect([number, findForbidden(bytes(number))]).toEqual([number, found]);
        expect([number, findForbidden(bytes(`["${padded}",${number},1]`))]).toEqual([number, found]);
      }),
      { numRuns: runs(5000) },
    );
    for (const place of [0, 1, 100, 307, 308]) {
      const below = (BigInt(limit) - 10n ** BigInt(308 - place)).toString();
      expect(findForbidden(bytes(below))).toBeNull();
    }
    expect(findForbidden(bytes(limit))).toBe("number");
  });

  it("The checks of a JSON body take no quadratic time", () => {
    // Quadratic, each of these takes minutes.
    for (const unit of ['"\\\\\\""', '{"a":"[{\\""}', "1e100", '{"constructor":{"a":1}}', `"${"x".repeat(40)}\\""`]) {
      const text = `[${Array(Math.floor(2_000_000 / unit.length))
        .fill(unit)
        .join(",")}]`;
      expect(parseJson(bytes(text))).toHaveLength(Math.floor(2_000_000 / unit.length));
    }
    const keys = Array.from({ length: 100_000 }, (_, i) => `"proto${i}":1e100`);
    expect(Object.keys(parseJson(bytes(`{${keys.join(",")}}`)) as object)).toHaveLength(100_000);
  });
});

/** True if an object has a key that would reach a prototype when it is copied or merged. */
function pollutes(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(pollutes);
  if (Object.hasOwn(value, "__proto__")) return true;
  if (Object.hasOwn(value, "constructor")) {
    const inner: unknown = value.constructor;
    if (typeof inner === "object" && inner !== null && Object.hasOwn(inner, "prototype")) return true;
  }
  return Object.values(value).some(pollutes);
}
