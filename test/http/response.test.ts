import { describe, expect, it } from "vitest";
import { discardBody } from "../../src/http/discard.js";
import { FileBody } from "../../src/http/files/file-body.js";
import { jsonResponse, Response } from "../../src/http/response.js";
import { ValueError } from "../../src/kit/value-error.js";

const fieldsOf = (response: Response): [string, string][] => [...response.headers];

describe("a response", () => {
  it("A response has status 200 and no body by default", () => {
    const response = new Response();
    expect([response.status, response.body, response.ok, fieldsOf(response)]).toEqual([200, null, true, []]);
  });

  it("A response takes its content type from its body", () => {
    expect(new Response("x").headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(new Response(new Uint8Array(1)).headers.get("content-type")).toBe("application/octet-stream");
    expect(new Response(new FileBody("/x/a.css")).headers.get("content-type")).toBe("text/css; charset=utf-8");
  });

  it("A response accepts a status in place of the init object", () => {
    expect(new Response("x", 201).status).toBe(201);
    expect(Response.json({}, 201).status).toBe(201);
    expect(Response.text("x", 418).ok).toBe(false);
  });

  it("A response accepts headers as an object, with several values, and as pairs", () => {
    expect(fieldsOf(new Response(null, { headers: { "X-A": "1", "X-B": 2, "Set-Cookie": ["a=1", "b=2"] } }))).toEqual([
      ["x-a", "1"],
      ["x-b", "2"],
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
    ]);
    expect(fieldsOf(new Response(null, { headers: new Headers({ "X-A": "1" }) }))).toEqual([["x-a", "1"]]);
    expect(fieldsOf(new Response(null, { headers: [["X-A", "1"]] }))).toEqual([["x-a", "1"]]);
  });

  it.each([199, 600, 0, -1, 200.5, Number.NaN, "200" as unknown as number])(
    "A response refuses the status %s",
    (status) => {
      expect(() => new Response(null, status)).toThrow(ValueError);
      expect(() => new Response(null, { status })).toThrow("must be an integer from 200 to 599");
    },
  );

  it("A response refuses an option that it does not have, and names the near one", () => {
    const wrong = { statuss: 201 } as object;
    const message = "a response has no option 'statuss'; did you mean 'status'?";
    for (const make of [
      () => new Response("x", wrong),
      () => Response.json({}, wrong),
      () => Response.redirect("/", wrong),
    ])
      expect(make).toThrow(message);
    const { status, headers } = new globalThis.Response("x", { status: 201, headers: { "x-a": "1" } });
    expect(new Response("x", { status, headers: [...headers] }).headers.get("x-a")).toBe("1");
    expect(new Response("x", new globalThis.Response("x", { status: 201 }) as object).status).toBe(201);
  });

  it("A response refuses a body if its status cannot have one", () => {
    expect(() => new Response("x", 204)).toThrow("a response with status 204 cannot have a body");
    expect(() => Response.json({}, 304)).toThrow(ValueError);
  });

  it("A response refuses a header that would split it", () => {
    expect(() => new Response("x", { headers: { "X-A": "a\r\nSet-Cookie: b=1" } })).toThrow(ValueError);
    expect(() => new Response("x", { headers: { "X-A": ["a", "b\nc"] } })).toThrow(ValueError);
    expect(() => new Response("x", { headers: [["X A", "1"]] })).toThrow(ValueError);
    expect(() => new Response("x").header("X-A", "\0")).toThrow(ValueError);
    expect(() => new Response("x", { headers: { "Content-Type": "a\nb" } })).toThrow(ValueError);
  });

  it("A header that is set on a response replaces the existing one", () => {
    const response = new Response("x").header("X-A", 1).header("x-a", "2");
    expect(response.headers.get("x-a")).toBe("2");
  });
});

describe("the ways to make a response", () => {
  it("Response.json() sends JSON and refuses values that JSON cannot express", () => {
    const response = Response.json({ a: "é" });
    expect([response.body, response.headers.get("content-type")]).toEqual(['{"a":"é"}', "application/json"]);
    expect(Response.json(null).body).toBe("null");
    expect(() => Response.json(undefined)).toThrow("undefined cannot be sent as JSON");
    expect(() => Response.json(() => {})).toThrow(ValueError);
  });

  it("jsonResponse() sends text that is already JSON", () => {
    const response = jsonResponse("[1]", 201);
    expect([response.status, response.body, response.type]).toEqual([201, "[1]", "application/json"]);
  });

  it("Response.text(), html() and bytes() set their content types", () => {
    expect(Response.text("x").type).toBe("text/plain; charset=utf-8");
    expect(Response.html("<p>").type).toBe("text/html; charset=utf-8");
    expect(Response.bytes(new Uint8Array([1])).type).toBe("application/octet-stream");
  });

  it("A given content type of a response is kept, in any form", () => {
    const type = "application/problem+json";
    expect(Response.json({}, { headers: { "content-TYPE": type } }).type).toBe(type);
    expect(Response.json({}, { headers: [["Content-Type", type]] }).type).toBe(type);
    const once = new Map([["Content-Type", type]]).entries();
    expect(Response.json({}, { headers: once }).type).toBe(type);
    expect(Response.json({}, { headers: { "X-A": "1" } }).type).toBe("application/json");
  });

  it("Response.noContent() has both spellings", () => {
    expect([Response.noContent().status, Response.noContent().body]).toEqual([204, null]);
    expect(Response.no_content().status).toBe(204);
  });

  it("Response.stream() keeps its body and content type", () => {
    async function* pieces() {
      yield "a";
    }
    const body = pieces();
    expect(Response.stream(body, { headers: { "Content-Type": "text/csv" } })).toMatchObject({
      body,
      type: "text/csv",
    });
  });

  it("Response.file() accepts a status and headers", () => {
    const response = Response.file("/x/a.html", { status: 404, headers: { "X-A": "1" } });
    expect(response.body).toBeInstanceOf(FileBody);
    expect([response.status, response.headers.get("x-a"), response.type]).toEqual([
      404,
      "1",
      "text/html; charset=utf-8",
    ]);
    expect(Response.file("/x/a", { contentType: "text/x" }).type).toBe("text/x");
  });

  it("Response.sse() cannot be cached or buffered", async () => {
    const response = Response.sse(
      (async function* () {
        yield "a";
      })(),
    );
    expect(fieldsOf(response)).toEqual([
      ["content-type", "text/event-stream"],
      ["cache-control", "no-cache"],
      ["x-accel-buffering", "no"],
    ]);
    const texts: unknown[] = [];
    for await (const text of response.body as AsyncIterable<string>) texts.push(text);
    expect(texts).toEqual(["data: a\n\n"]);
  });

  it("Response.sse() refuses data that has no JSON yet, in place of an empty object", async () => {
    const { body } = Response.sse(async function* () {
      yield { data: { late: Promise.reject(new Error("late")) } };
    });
    const read = async () => {
      for await (const _ of body as AsyncIterable<string>);
    };
    await expect(read()).rejects.toThrow("late is a promise or a queryset");
  });
});

describe("a redirect", () => {
  it("A redirect is 302 by default", () => {
    expect([Response.redirect("/x").status, Response.redirect("/x").headers.get("location")]).toEqual([302, "/x"]);
    expect(Response.redirect("/x", 301).status).toBe(301);
    expect(Response.redirect(new URL("https://a.example/b"), { status: 308 }).status).toBe(308);
    expect(Response.redirect("/x", { headers: { "X-A": "1" } }).status).toBe(302);
    expect(Response.redirect("/x", { status: undefined }).status).toBe(302);
    expect(Response.redirect("/x").body).toBeNull();
  });

  it.each(["/", "/books", "/books/1?page=2&next=//a.example#part", "/%2f/a", "/a//b", "/été"])(
    "A local redirect goes to the path %s",
    (target) => {
      const response = Response.redirectLocal(target, "/home", 303);
      expect(response.status).toBe(303);
      expect(response.headers.get("location")).toBe(Response.redirect(target).headers.get("location"));
    },
  );

  it.each([
    "https://a.example/",
    "//a.example/",
    "///a.example/",
    "/\\a.example/",
    "\\\\a.example/",
    "/\t/a.example",
    "/\n/a.example",
    "\t//a.example",
    " //a.example",
    "/.//a.example",
    "/a/..//a.example",
    "/%2e%2e//a.example",
    "javascript:alert(1)",
    "books",
    "",
    "?a",
    undefined,
    null,
    ["/books"],
  ])("A local redirect goes to the fallback in place of %j", (target) => {
    expect(Response.redirectLocal(target, "/home").headers.get("location")).toBe("/home");
    expect(Response.redirect_local(target).headers.get("location")).toBe("/");
  });

  it.each([200, 300, 304, 404])("A redirect refuses the status %s", (status) => {
    expect(() => Response.redirect("/x", status)).toThrow("use 301, 302, 303, 307 or 308");
  });

  it.each([
    ["/a\r\nSet-Cookie: x=1", "/a%0D%0ASet-Cookie:%20x=1"],
    ["/\u560d\u560a", "/%E5%98%8D%E5%98%8A"],
    ["/a b?q=é#x", "/a%20b?q=%C3%A9#x"],
    ["/%0d%0aSet-Cookie", "/%0d%0aSet-Cookie"],
    ["/\ud800", "/%EF%BF%BD"],
    ["/\0", "/%00"],
  ])("A redirect to %j is one field without a line break", (target, location) => {
    const response = Response.redirect(target);
    expect(fieldsOf(response)).toEqual([["location", location]]);
  });
});

describe("the cookies of a response", () => {
  it("Each cookie of a response is a field of its own", () => {
    const response = new Response("x").cookie("a", "1").cookie("b", "2; x", { httpOnly: true });
    expect(response.headers.getSetCookie()).toEqual(["a=1; Path=/", "b=2%3B%20x; Path=/; HttpOnly"]);
  });

  it("A cookie is deleted with the path and domain it was set with, in both spellings", () => {
    const cleared = "a=; Path=/x; Domain=a.example; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:00 GMT";
    const options = { path: "/x", domain: "a.example" };
    expect(new Response().clearCookie("a", options).headers.getSetCookie()).toEqual([cleared]);
    expect(new Response().clear_cookie("a", options).headers.getSetCookie()).toEqual([cleared]);
  });

  it("A cookie cannot split the response", () => {
    expect(() => new Response().cookie("a\r\nb", "1")).toThrow(ValueError);
    expect(() => new Response().cookie("a", "1", { path: "/\r\n" })).toThrow(ValueError);
  });
});

describe("cache tags", () => {
  it("Cache tags are kept with the response and are not a header", () => {
    const response = new Response("x").cacheTags("a", "b").cache_tags("c");
    expect(response.tags).toEqual(["a", "b", "c"]);
    expect(response.fields).toBeNull();
  });
});

describe("a discarded body", () => {
  it("A discarded body of a response is cancelled", async () => {
    let cancelled = false;
    const body = new ReadableStream<string>({
      cancel() {
        cancelled = true;
      },
    });
    discardBody(Response.stream(body));
    expect(cancelled).toBe(true);
    expect(() => discardBody(new Response("x"))).not.toThrow();
    expect(() => discardBody(new Response(new FileBody("/x")))).not.toThrow();
  });
});
