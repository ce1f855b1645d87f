import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type CookieOptions, hostCookieName, parseCookies, serializeCookie } from "../../src/http/fields/cookies.js";
import { ValueError } from "../../src/kit/value-error.js";
import fc from "../support/properties.js";

describe("reading cookies", () => {
  it("Cookies are read by name, in order", () => {
    const cookies = parseCookies("a=1; b=2;c=3");
    expect([...cookies]).toEqual([
      ["a", "1"],
      ["b", "2"],
      ["c", "3"],
    ]);
    expect(cookies.size).toBe(3);
    expect(cookies.has("b")).toBe(true);
    expect(cookies.get("B")).toBeUndefined();
    expect([...cookies.keys()]).toEqual(["a", "b", "c"]);
  });

  it.each([
    ["the first of several values wins", "a=1; a=2", "1"],
    ["escapes are decoded", "a=caf%C3%A9%20%3B", "café ;"],
    ["bad percent-encoding leaves the value as it was sent", "a=100%; b=1", "100%"],
    ["a bad sequence of bytes leaves the value as it was sent", "a=%ff%41", "%ff%41"],
    ["quotes are taken off", 'a="x y"', "x y"],
    ["one quote is a value", 'a="', '"'],
    ["the value may hold an equals sign", "a=b=c==", "b=c=="],
    ["spaces and tabs around name and value are taken off", " \ta \t=\t 1 \t", "1"],
    ["an empty value is a value", "a=", ""],
    ["a byte that is no space in ASCII stays", "a=\u00c3\u00a0", "\u00c3\u00a0"],
  ])("A Cookie header is read by this rule: %s", (_, header, value) => {
    expect(parseCookies(header).get("a")).toBe(value);
  });

  it("Parts of a Cookie header that are not cookies are skipped", () => {
    expect([...parseCookies("novalue; =x; ;; a=1;")]).toEqual([["a", "1"]]);
    expect(parseCookies("").size).toBe(0);
  });

  it("Cookies named __proto__ and constructor are plain cookies", () => {
    const cookies = parseCookies("__proto__=1; constructor=2");
    expect(cookies.get("__proto__")).toBe("1");
    expect(cookies.get("constructor")).toBe("2");
    expect(cookies.get("toString")).toBeUndefined();
    expect(JSON.stringify(cookies)).toBe('{"__proto__":"1","constructor":"2"}');
  });

  it("A long run of blanks does not slow down the parser of cookies", () => {
    const blanks = " ".repeat(200_000);
    expect(parseCookies(`a=${blanks}x${blanks}y`).get("a")).toBe(`x${blanks}y`);
  });
});

describe("writing cookies", () => {
  it("A cookie is written with name, value and the path /", () => {
    expect(serializeCookie("a", "1")).toBe("a=1; Path=/");
  });

  it("The value of a cookie is escaped, so that it cannot end the field", () => {
    expect(serializeCookie("a", 'x; Domain=evil\r\nSet-Cookie: b="é"')).toBe(
      "a=x%3B%20Domain%3Devil%0D%0ASet-Cookie%3A%20b%3D%22%C3%A9%22; Path=/",
    );
  });

  it("A cookie is written with every attribute", () => {
    const cookie = serializeCookie("a", "1", {
      domain: "example.com",
      path: "/books",
      maxAge: 60,
      expires: new Date(Date.UTC(2038, 0, 20)),
      httpOnly: true,
      secure: true,
      sameSite: "none",
      partitioned: true,
      priority: "high",
    });
    expect(cookie).toBe(
      "a=1; Path=/books; Domain=example.com; Max-Age=60; Expires=Wed, 20 Jan 2038 00:00:00 GMT; " +
        "HttpOnly; Secure; SameSite=None; Partitioned; Priority=High",
    );
  });

  it.each([
    ["1h", 3600],
    [0.6, 1],
    [0, 0],
    [-1, -1],
  ] as const)("A cookie with the age %s has Max-Age=%s, in whole seconds", (maxAge, written) => {
    expect(serializeCookie("a", "1", { maxAge })).toBe(`a=1; Path=/; Max-Age=${written}`);
  });

  it("A cookie's secret is not shown in a message", () => {
    expect(() => serializeCookie("a", "1", { secret: ["hunter2", 5] as never })).toThrow(/^(?!.*hunter2)/);
  });

  it("The dates of a cookie are written up to the end of the year 9999", () => {
    const expires = new Date(Date.UTC(9999, 11, 31, 23, 59, 59));
    expect(serializeCookie("a", "1", { expires })).toContain("Expires=Fri, 31 Dec 9999 23:59:59 GMT");
  });

  it.each<[string, string, CookieOptions, RegExp]>([
    ["a name with a line break", "a\r\nb", {}, /"a\\r\\nb" is not a valid cookie name/],
    ["a name with a semicolon", "a;b", {}, /not a valid cookie name/],
    ["a name with an equals sign", "a=b", {}, /not a valid cookie name/],
    ["an empty name", "", {}, /not a valid cookie name/],
    ["a domain with a semicolon", "a", { domain: "a.example; Secure" }, /option 'domain'.*host name/],
    ["a domain with a line break", "a", { domain: "a.example\r\nX: 1" }, /option 'domain'/],
    ["a path with a semicolon", "a", { path: "/;x" }, /option 'path'/],
    ["a path with a line break", "a", { path: "/\r\nX: 1" }, /option 'path'/],
    ["a path that is not absolute", "a", { path: "books" }, /option 'path'.*begins with '\/'/],
    ["a maxAge without a unit", "a", { maxAge: "1" as never }, /option 'maxAge'.*a duration/],
    ["an invalid date", "a", { expires: new Date("x") }, /option 'expires'.*1601 and 9999/],
    ["a date behind the year 9999", "a", { expires: new Date(Date.UTC(10_000, 0)) }, /option 'expires'/],
    ["sameSite none without secure", "a", { sameSite: "none" }, /sameSite "none" requires secure: true/],
    ["partitioned without secure", "a", { partitioned: true }, /partitioned requires secure: true/],
    ["__Secure- without secure", "__Secure-a", {}, /prefix requires secure: true/],
    ["__Host- without secure", "__host-a", {}, /prefix requires secure: true/],
    ["__Host- with a domain", "__Host-a", { secure: true, domain: "a.example" }, /no domain/],
    ["__Host- with another path", "__Host-a", { secure: true, path: "/x" }, /requires the path "\/"/],
    ["an empty secret", "a", { secret: "" }, /secret that is not empty/],
    ["no secret in the list", "a", { secret: [] }, /secret that is not empty/],
  ])("serializeCookie() refuses %s", (_, name, options, message) => {
    expect(() => serializeCookie(name, "1", options)).toThrow(ValueError);
    expect(() => serializeCookie(name, "1", options)).toThrow(message);
  });

  it("An unknown cookie option is refused, with a suggestion", () => {
    const options = { httponly: true } as CookieOptions;
    expect(() => serializeCookie("a", "1", options)).toThrow("unknown option 'httponly'");
    expect(() => serializeCookie("a", "1", options)).toThrow("did you mean 'httpOnly'");
  });

  it("A sameSite value that browsers do not know is refused", () => {
    expect(() => serializeCookie("a", "1", { sameSite: "Laxx" as "lax" })).toThrow(/option 'sameSite'.*"strict"/);
  });

  it("Half of a surrogate pair is refused in a cookie, because UTF-8 cannot express it", () => {
    expect(() => serializeCookie("a", "\ud800")).toThrow("half of a surrogate pair");
  });

  it("The prefixes of cookie names are accepted if their rules are kept", () => {
    expect(serializeCookie("__Host-a", "1", { secure: true })).toBe("__Host-a=1; Path=/; Secure");
    expect(serializeCookie("__Secure-a", "1", { secure: true, domain: "a.example" })).toContain("Domain=a.example");
  });

  it("Any cookie value that is written is read back unchanged", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (value) => {
        const pair = serializeCookie("a", value).split("; ")[0]!;
        expect(parseCookies(pair).get("a")).toBe(value);
      }),
    );
  });
});

describe("signed cookies", () => {
  const pairOf = (name: string, value: string, secret: string | string[]): string =>
    serializeCookie(name, value, { secret }).split("; ")[0]!;

  it("A signed cookie is the value, a dot, and the HMAC of name and value", () => {
    const mac = createHmac("sha256", "key").update("user=ada").digest("base64url");
    expect(pairOf("user", "ada", "key")).toBe(`user=ada.${mac}`);
  });

  it("A signed cookie with the right signature gives its value", () => {
    expect(parseCookies(pairOf("user", "ada.lovelace é", "key")).signed("user", "key")).toBe("ada.lovelace é");
    expect(parseCookies(pairOf("user", "", "key")).signed("user", "key")).toBe("");
  });

  it("A signed cookie is verified with any of several secrets, and signed with the first", () => {
    const old = parseCookies(pairOf("user", "ada", "old"));
    expect(old.signed("user", ["new", "old"])).toBe("ada");
    const rotated = parseCookies(pairOf("user", "ada", ["new", "old"]));
    expect(rotated.signed("user", "new")).toBe("ada");
    expect(rotated.signed("user", "old")).toBeUndefined();
  });

  it("A signed cookie with another value, name, secret or signature gives no value", () => {
    const pair = pairOf("user", "ada", "key");
    const mac = pair.slice(pair.lastIndexOf(".") + 1);
    const read = (header: string, name = "user", secret = "key") => parseCookies(header).signed(name, secret);
    expect(read(`user=eve.${mac}`)).toBeUndefined();
    expect(read(`admin=ada.${mac}`, "admin")).toBeUndefined();
    expect(read(pair, "user", "other")).toBeUndefined();
    expect(read(`user=ada.${mac.slice(0, -1)}`)).toBeUndefined();
    expect(read(`user=ada.${mac}=`)).toBeUndefined();
    expect(read("user=ada.")).toBeUndefined();
    expect(read("user=ada")).toBeUndefined();
    expect(read("other=1")).toBeUndefined();
  });

  it("Unused bits of base64 do not make a second valid signature", () => {
    const pair = pairOf("user", "ada", "key");
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    const neighbour = alphabet[alphabet.indexOf(pair.at(-1)!) ^ 1]!;
    expect(parseCookies(pair.slice(0, -1) + neighbour).signed("user", "key")).toBeUndefined();
  });

  it("A signed cookie cannot be verified without a secret", () => {
    expect(() => parseCookies("a=1").signed("a", [])).toThrow(ValueError);
    expect(() => parseCookies("").signed("a", ["key", ""])).toThrow(ValueError);
  });
});

describe("the prefix __Host- of a cookie's name", () => {
  it("The prefix __Host- is added if the options allow it, and such a cookie is accepted", () => {
    for (const options of [{ secure: true }, { secure: true, path: "/" }]) {
      const name = hostCookieName("session", options);
      expect(name).toBe("__Host-session");
      expect(() => serializeCookie(name, "x", options)).not.toThrow();
    }
  });

  it.each([
    ["session", {}],
    ["session", { secure: false }],
    ["session", { secure: true, path: "/app" }],
    ["session", { secure: true, domain: "example.com" }],
    ["__Host-session", { secure: true }],
    ["__secure-session", { secure: true }],
  ])("The prefix __Host- is not added to %s with %j", (name, options) => {
    expect(hostCookieName(name, options)).toBe(name);
  });
});
