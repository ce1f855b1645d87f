import { describe, expect, it } from "vitest";
import { developmentPage } from "../../src/error-pages/development-page.js";
import { renderError } from "../../src/error-pages/render.js";
import { ForbiddenError, HttpError, httpError } from "../../src/errors/http-error.js";
import { Request } from "../../src/http/request.js";
import { hostileErrors } from "../errors/hostile-errors.js";
import { fakeSource } from "../http/fake-source.js";

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const development = { debug: true, handler: "sync", page: developmentPage } as const;
const production = { debug: false, handler: "sync", page: developmentPage } as const;

function requestOf(accept?: string): Request {
  return new Request(fakeSource("GET", "/books", accept === undefined ? [] : [["Accept", accept]]));
}

class UniqueViolation extends Error {}

describe("renderError", () => {
  it("answers an error of ours with its problem details, debug or not, browser or not", () => {
    for (const options of [development, production]) {
      for (const error of [httpError("NOT_FOUND"), new ForbiddenError("no"), new HttpError(503, "later")]) {
        const response = renderError(requestOf(browser), error, options);
        expect(response.status).toBe(error.status);
        expect(response.type).toBe("application/problem+json");
        expect(JSON.parse(response.body as string)).toMatchObject({ status: error.status, detail: error.message });
      }
    }
  });

  it("tells the class and the message in debug, and how the handler failed", () => {
    const error = new UniqueViolation('duplicate key "a"');
    const sync = renderError(requestOf("*/*"), error, development);
    expect(sync.status).toBe(500);
    expect(sync.type).toBe("application/json");
    expect(sync.body).toBe(JSON.stringify({ error: 'Handler error: UniqueViolation: duplicate key "a"', status: 500 }));
    const async = renderError(requestOf(), error, { debug: true, handler: "async", page: developmentPage });
    expect(async.body).toBe(
      JSON.stringify({ error: 'Async handler error: UniqueViolation: duplicate key "a"', status: 500 }),
    );
  });

  it("shows a browser the page in debug, uncached and without a right to run or load anything", () => {
    const response = renderError(requestOf(browser), new UniqueViolation("duplicate"), development);
    expect(response.status).toBe(500);
    expect(response.type).toBe("text/html; charset=utf-8");
    expect(response.body).toContain("<h1>UniqueViolation</h1>");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(response.headers.get("x-frame-options")).toBe("DENY");
  });

  it.each([undefined, "*/*", browser])("tells nothing with debug off (Accept: %s)", (accept) => {
    for (const handler of ["sync", "async"] as const) {
      const response = renderError(requestOf(accept), new UniqueViolation("secret"), {
        debug: false,
        handler,
        page: developmentPage,
      });
      expect(response.status).toBe(500);
      expect(response.type).toBe("application/json");
      expect(response.body).toBe('{"error":"Internal Server Error","status":500}');
      expect([...response.headers]).toEqual([["content-type", "application/json"]]);
    }
  });

  it("does not trust the shape of other errors", () => {
    const foreign = Object.assign(new Error("shown?"), {
      status: 418,
      statusCode: 418,
      expose: true,
      headers: { "X-Evil": "1" },
      body: "shown?",
    });
    const response = renderError(requestOf(), foreign, production);
    expect(response.status).toBe(500);
    expect(response.body).toBe('{"error":"Internal Server Error","status":500}');
    expect(response.headers.get("x-evil")).toBeUndefined();
  });

  it("answers 500 for an error of ours that cannot be sent", () => {
    for (const error of [
      new HttpError(99, "secret"),
      new HttpError(400, "secret", { extensions: { n: 1n } }),
      new HttpError(400, "secret", { headers: { "X-Split": "a\r\nb" } }),
    ]) {
      const response = renderError(requestOf(), error, production);
      expect(response.status).toBe(500);
      expect(response.body).toBe('{"error":"Internal Server Error","status":500}');
      expect(renderError(requestOf(), error, development).body).toMatch(
        /^{"error":"Handler error: (Value|Type)Error: /,
      );
    }
  });

  it.each(hostileErrors())("answers 500 when %s is thrown", (_, error) => {
    for (const accept of ["*/*", browser]) {
      for (const options of [development, production]) {
        const response = renderError(requestOf(accept), error, options);
        expect(response.status).toBe(500);
        if (response.type === "application/json") {
          expect(Object.keys(JSON.parse(response.body as string))).toEqual(["error", "status"]);
        }
      }
    }
  });
});
