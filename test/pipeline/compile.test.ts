import { describe, expect, it } from "vitest";
import { Request } from "../../src/http/request.js";
import { Response } from "../../src/http/response.js";
import type { RequestSource } from "../../src/http/source.js";
import { compile } from "../../src/pipeline/compile.js";
import type { Middleware } from "../../src/pipeline/middleware.js";

/** A streamed body that notes that it was stopped. */
class StoppableBody implements AsyncIterable<string> {
  stopped = 0;

  [Symbol.asyncIterator](): AsyncIterator<string> {
    return {
      next: async () => ({ done: false, value: "more" }),
      return: async () => {
        this.stopped++;
        return { done: true, value: undefined };
      },
    };
  }
}

const source = { method: "GET", path: "/", search: "", body: null } as unknown as RequestSource;

async function respond(middleware: Middleware, body: AsyncIterable<string>): Promise<Response> {
  const run = compile({
    middleware: [middleware],
    endpoint: () => Response.stream(body),
    onError: (_request, error) => new Response((error as Error).message, 500),
    readBody: false,
    bodyLimit: null,
    decompress: null,
    deadlines: null,
  });
  return run(new Request(source));
}

describe("a response whose middleware fails", () => {
  const failures: [string, Middleware][] = [
    [
      "throws",
      {
        after() {
          throw new Error("failed");
        },
      },
    ],
    ["rejects", { after: () => Promise.reject(new Error("failed")) }],
    [
      "throws behind next()",
      {
        around(_request, next) {
          void next();
          throw new Error("failed");
        },
      },
    ],
    [
      "rejects behind next()",
      {
        async around(_request, next) {
          await next();
          throw new Error("failed");
        },
      },
    ],
  ];

  it.each(failures)("The body of a response is cancelled if the middleware %s", async (_how, middleware) => {
    const body = new StoppableBody();
    const response = await respond(middleware, body);
    expect(response).toMatchObject({ status: 500, body: "failed" });
    expect(body.stopped).toBe(1);
  });

  it("A response is sent unchanged if `after` returns nothing", async () => {
    const body = new StoppableBody();
    expect((await respond({ after: () => undefined }, body)).body).toBeDefined();
    expect(body.stopped).toBe(0);
  });
});
