import { describe, expect, it } from "vitest";
import { httpError } from "../../src/errors/http-error.js";
import { overloaded, unavailable } from "../../src/errors/paced.js";
import { Request } from "../../src/http/request.js";
import type { RequestSource } from "../../src/http/source.js";
import type { Logger } from "../../src/kit/logger.js";
import { ExceptionHandlers } from "../../src/pipeline/exceptions.js";
import { createOnError } from "../../src/pipeline/on-error.js";

const source = { method: "GET", path: "/x", search: "", body: null, header: () => undefined };

/** The levels and messages that are logged when a handler throws. */
function logged(...fails: ((request: Request) => unknown)[]): string[] {
  const lines: string[] = [];
  const write =
    (level: string) =>
    (message: string): void =>
      void lines.push(`${level} ${message}`);
  const logger: Logger = {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    child: () => logger,
  };
  const onError = createOnError(new ExceptionHandlers(), { debug: false, logger }, null);
  for (const fail of fails) {
    const request = new Request(source as unknown as RequestSource);
    void onError(request, fail(request), "async");
  }
  return lines;
}

describe("the log of a failed request", () => {
  it("A fault of the handler is logged as an error, also if the client has disconnected", () => {
    expect(logged(() => new Error("fault"))).toEqual(["error GET /x failed"]);
    const fault = (request: Request): Error => {
      request.abort(new Error("the client has left"));
      return new Error("fault");
    };
    expect(logged(fault)).toEqual(["error GET /x failed"]);
  });

  it("A handler that ends because its request was aborted is not logged as an error", () => {
    const reason = (request: Request): unknown => {
      request.abort(new Error("the client has left"));
      return request.signal.reason;
    };
    expect(logged(reason)).toEqual(["debug GET /x was aborted"]);
    const aborted = (request: Request): unknown => {
      request.abort(new Error("the client has left"));
      return new DOMException("This operation was aborted", "AbortError");
    };
    expect(logged(aborted)).toEqual(["debug GET /x was aborted"]);
  });

  it("An AbortError of another signal is logged as an error", () => {
    expect(logged(() => new DOMException("aborted", "AbortError"))).toEqual(["error GET /x failed"]);
  });

  it("A request that runs out of time is logged as a warning", () => {
    const late = (request: Request): unknown => {
      const error = httpError("GATEWAY_TIMEOUT");
      request.abort(error);
      return error;
    };
    expect(logged(late)).toEqual(["warn GET /x answered 504"]);
  });

  it("Requests that fail because a store is away get one line in ten seconds, and overloads get another", () => {
    const away = () => unavailable(new Error("the store is away"));
    const line = "warn GET /x answered 503";
    expect(logged(away, away, away)).toEqual([line]);
    expect(
      logged(
        away,
        () => overloaded(),
        away,
        () => overloaded(),
      ),
    ).toEqual([line, line]);
    expect(logged(...Array(3).fill(() => httpError("SERVICE_UNAVAILABLE")))).toEqual([line, line, line]);
  });
});
