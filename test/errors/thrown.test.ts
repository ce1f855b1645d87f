import { App, HttpError } from "stoa";
import { serve } from "stoa/testing";
import { beforeAll, describe, expect, it } from "vitest";
import { hostileErrors } from "./hostile-errors.js";

const silent: App["logger"] = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };

const thrown: readonly [string, () => unknown][] = [
  ...hostileErrors().map(([what, value]): [string, () => unknown] => [what, () => value]),
  ["a frozen error without a stack", () => Object.freeze(Object.assign(new Error("m"), { stack: "" }))],
  ["an HttpError without a status", () => new HttpError(undefined as never)],
  ["an HttpError with null as its status", () => new HttpError(null as never)],
  ["an HttpError with a list as its status", () => new HttpError([404] as never)],
  ["an HttpError with a promise as its status", () => new HttpError(Promise.resolve(404) as never)],
  ["an HttpError with an object as its status", () => new HttpError({ status: 404 } as never)],
  ["an HttpError with a status that does not exist", () => new HttpError(99)],
];

describe("Values that a handler throws", () => {
  const app = new App();
  let url: string;
  beforeAll(async () => {
    app.logger = silent;
    app.exceptionHandler(HttpError, (request, error) => {
      if (request.path.startsWith("/handled")) return { seen: true };
      throw error;
    });
    for (const [i, [, make]] of thrown.entries()) {
      app.get(`/sync/${i}`, () => {
        throw make();
      });
      app.get(`/async/${i}`, async () => {
        throw make();
      });
      const guard = async (): Promise<never> => {
        throw make();
      };
      app.get(`/guard/${i}`, { guards: [guard] }, () => 1);
      app.get(`/handled/${i}`, () => {
        throw make();
      });
    }
    const server = await serve(app, { debug: false, requestTimeout: 5 });
    url = server.url;
    return () => server.close();
  });

  it.each(thrown.map(([what], i) => [what, i] as const))("The response to %s is 500", async (_what, i) => {
    for (const how of ["sync", "async", "handled"]) {
      // A status that is a number is the error's own for its exception handler.
      if (how === "handled" && i === thrown.length - 1) continue;
      expect([how, (await fetch(`${url}/${how}/${i}`)).status]).toEqual([how, 500]);
    }
    expect([403, 500]).toContain((await fetch(`${url}/guard/${i}`)).status);
  });
});

it("A misspelt member of the options of an HttpError is refused", () => {
  expect(() => new HttpError(429, "Later.", { header: { "Retry-After": "1" } } as never)).toThrow(
    "unknown option 'header' in HttpError; did you mean 'headers'?",
  );
});
