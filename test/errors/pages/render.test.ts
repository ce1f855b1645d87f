import { describe, expect, it } from "vitest";
import { ForbiddenError, HttpError, httpError } from "../../../src/errors/http-error.js";
import { developmentPage } from "../../../src/errors/pages/development-page.js";
import { renderError } from "../../../src/errors/pages/render.js";
import { Request } from "../../../src/http/request.js";
import { fakeSource } from "../../http/fake-source.js";
import { hostileErrors } from "../hostile-errors.js";

const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const development = { debug: true, handler: "sync", page: developmentPage } as const;
const production = { debug: false, handler: "sync", page: developmentPage } as const;

function requestOf(accept?: string): Request {
  return new Request(fakeSource("GET", "/books", accept === undefined ? [] : [["Accept", accept]]));
}

class UniqueViolation extends Error {}

describe("renderError", () => {
  it("An error of the framework is sent as its problem details, in debug mode or not, to browsers or not", () => {
    for (const options of [development, production]) {
      for (const error of [httpError("NOT_FOUND"), new ForbiddenError("no"), new HttpError(503, "later")]) {
        const response = renderError(requestOf(browser), error, options);
        expect(response.status).toBe(error.status);
        expect(response.type).toBe("application/problem+json");
        expect(JSON.parse(response.body as string)).toMatchObject({ status: error.status, detail: error.message });
      }
    }
  });

  it("The response in debug mode shows the class and the message, and how the handler failed", () => {
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

  it("A browser in debug mode gets the page, uncached and without permission to run or load anything", () => {
    const response = renderError(requestOf(browser), new UniqueViolation("duplicate"), development);
    expect(response.status).toBe(500);
    expect(response.type).toBe("text/html; charset=utf-8");
    expect(response.body).toContain("<h1>UniqueViolation</h1>");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(response.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(response.headers.get("x-frame-options")).toBe("DENY");
  });

  it.each([undefined, "*/*", browser])(
    "The response without debug mode shows nothing of the error (Accept: %s)",
    (accept) => {
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
    },
  );

  it("The properties of foreign errors are not trusted", () => {
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

  it("An error of the framework that cannot be sent becomes 500", () => {
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

  it.each(hostileErrors())("A thrown value of this kind becomes 500: %s", (_, error) => {
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
