import { describe, expect, it } from "vitest";
import { checkHeader, isToken, RequestHeaders, type ResponseHeaders } from "../../src/http/fields/headers.js";
import { Response } from "../../src/http/response.js";
import { ValueError } from "../../src/kit/value-error.js";
import { fakeSource } from "./fake-source.js";

describe("the headers of a request", () => {
  const headers = new RequestHeaders(
    fakeSource("GET", "/", [
      ["Host", "a.example"],
      ["X-Multi", "1"],
      ["x-multi", "2"],
      ["__proto__", "x"],
    ]),
  );

  it("Request headers are found by name in any case", () => {
    expect(headers.get("host")).toBe("a.example");
    expect(headers.get("HOST")).toBe("a.example");
    expect(headers.has("hOsT")).toBe(true);
    expect(headers.get("absent")).toBeUndefined();
    expect(headers.has("absent")).toBe(false);
  });

  it("Repeated request headers are joined by get() and separate in getAll()", () => {
    expect(headers.get("X-Multi")).toBe("1, 2");
    expect(headers.getAll("X-Multi")).toEqual(["1", "2"]);
    expect(headers.getAll("absent")).toEqual([]);
  });

  it("Request headers are iterated as received, with names in lower case", () => {
    expect([...headers]).toEqual([
      ["host", "a.example"],
      ["x-multi", "1"],
      ["x-multi", "2"],
      ["__proto__", "x"],
    ]);
    expect([...headers.keys()]).toEqual(["host", "x-multi", "x-multi", "__proto__"]);
  });

  it("Request headers become JSON with one property per name, whatever the name", () => {
    expect(JSON.stringify(headers)).toBe('{"host":"a.example","x-multi":"1, 2","__proto__":"x"}');
  });

  it("Request headers can initialize web headers", () => {
    expect(new Headers([...headers]).get("x-multi")).toBe("1, 2");
  });
});

describe("the headers of a response", () => {
  const make = (): ResponseHeaders => new Response("x").headers;

  it("Response headers are set, added, replaced and removed by name in any case", () => {
    const headers = make().set("X-A", "1").append("x-a", 2);
    expect(headers.get("X-a")).toBe("1, 2");
    headers.set("x-A", "3");
    expect(headers.get("x-a")).toBe("3");
    expect(headers.delete("X-A")).toBe(true);
    expect(headers.delete("X-A")).toBe(false);
    expect(headers.has("x-a")).toBe(false);
  });

  it("Content-Type is read, set and removed as any other response header", () => {
    const headers = make();
    expect(headers.get("Content-Type")).toBe("text/plain; charset=utf-8");
    headers.set("content-TYPE", "text/x");
    expect([...headers]).toEqual([["content-type", "text/x"]]);
    expect(headers.delete("Content-Type")).toBe(true);
    expect(headers.delete("Content-Type")).toBe(false);
    expect(headers.has("content-type")).toBe(false);
  });

  it("Several Set-Cookie response headers stay separate", () => {
    const headers = make().append("Set-Cookie", "a=1").append("X-A", "x").append("set-cookie", "b=2");
    expect(headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect([...headers].filter(([name]) => name === "set-cookie")).toHaveLength(2);
  });

  it.each(["a\r\nSet-Cookie: x=1", "a\nb", "a\rb", "a\0b", "a\x7fb", "a\x1bb", "日本", "\u560d\u560a"])(
    "Response headers refuse the value %j",
    (value) => {
      for (const name of ["X-A", "Content-Type"]) {
        const headers = make();
        expect(() => headers.set(name, value)).toThrow(ValueError);
        expect(() => headers.append(name, value)).toThrow(`the value of header '${name}'`);
      }
    },
  );

  it.each(["", "a b", "a:", "a\r\n", "é", "a\0"])("Response headers refuse the name %j", (name) => {
    expect(() => make().set(name, "x")).toThrow(ValueError);
  });

  it.each(["", "a b", "tab\there", "\u00e9\u00ff", '"quoted"; a=b, c'])(
    "Response headers accept the value %j",
    (value) => {
      expect(make().set("X-A", value).get("x-a")).toBe(value);
    },
  );
});

describe("the parts of a header field", () => {
  it("Valid header names and tokens are accepted, and others are refused", () => {
    expect(isToken("X-Request_ID.1!#$%&'*+^`|~")).toBe(true);
    expect(isToken("a/b")).toBe(false);
    expect(isToken("")).toBe(false);
    expect(() => checkHeader("a", "b")).not.toThrow();
    expect(() => checkHeader("a b", "b")).toThrow('"a b" is not a valid header name');
  });
});
