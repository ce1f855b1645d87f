import { describe, expect, it } from "vitest";
import {
  ForeignKeyViolation,
  NotNullViolation,
  ProgrammingError,
  UniqueViolation,
} from "../../src/engines/db/errors.js";
import { httpError } from "../../src/errors/http-error.js";
import { overloaded, unavailable } from "../../src/errors/paced.js";
import { developmentPage } from "../../src/errors/pages/development-page.js";
import { Request } from "../../src/http/request.js";
import type { RequestSource } from "../../src/http/source.js";
import type { Logger } from "../../src/kit/logger.js";
import { DoesNotExist } from "../../src/orm/errors.js";
import { ExceptionHandlers } from "../../src/pipeline/exceptions.js";
import { createOnError } from "../../src/pipeline/on-error.js";
import { fakeSource } from "../http/fake-source.js";

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
  it("In debug mode the log and the page of an error that nothing caught name the helper that answers it", () => {
    const errors = [
      new UniqueViolation("taken", { sqlstate: "23505" }),
      new ForeignKeyViolation("in use", { sqlstate: "23503" }),
      new DoesNotExist("no such book"),
      new ProgrammingError('relation "x" does not exist', { sqlstate: "42P01" }),
      new NotNullViolation("null", { sqlstate: "23502" }),
    ];
    const cures = (debug: boolean) =>
      errors.map((error) => {
        let cure: unknown;
        const logger = { error: (_message: string, fields: { cure?: unknown }) => void (cure = fields.cure) };
        const onError = createOnError(new ExceptionHandlers(), { debug, logger: logger as never }, null);
        void onError(new Request(source as unknown as RequestSource), error, "async");
        return cure;
      });
    const [unique, key, missing, table, other] = cures(true);
    expect(unique).toContain("orConflict()");
    expect(key).toBe(unique);
    expect(missing).toContain("getOr404()");
    expect(table).toContain("npx stoa migrate up");
    expect(other).toBeUndefined();
    expect(cures(false)).toEqual(Array(5).fill(undefined));
    expect(developmentPage(new Request(fakeSource("GET", "/", [])), errors[0])).toContain(unique);
  });

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
    expect(logged(late)).toEqual(["warn GET /x failed with 504"]);
  });

  it("Requests that fail because a store is away get one line in ten seconds, and overloads get another", () => {
    const away = () => unavailable(new Error("the store is away"));
    const line = "warn GET /x failed with 503";
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
