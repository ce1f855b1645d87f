import { App } from "stoa";
import { afterEach, describe, expect, it, vi } from "vitest";
import { type RequestLogOptions, requestLogger } from "../../../src/batteries/request-log/request-log.js";
import { Request } from "../../../src/http/request.js";
import { Response } from "../../../src/http/response.js";
import { fakeSource } from "../../http/fake-source.js";
import { collect } from "../../logging/collect.js";
import { hostileText, unsafeCharacter } from "../../logging/hostile.js";

afterEach(() => {
  vi.useRealTimers();
});

function log(request: Request, status = 200, format: RequestLogOptions["format"] = "json", wait = 0): string {
  const sink = collect();
  const middleware = requestLogger({ sink, format });
  middleware.before(request);
  if (wait > 0) vi.advanceTimersByTime(wait);
  middleware.after(request, new Response(null, status));
  return sink.text;
}

function requestOf(target: string, method = "GET"): Request {
  return new Request(fakeSource(method, target));
}

describe("requestLogger", () => {
  it("Each request is logged as one JSON line with method, path, status, latency and ISO 8601 time", () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 31, 12, 30, 5, 7) });
    vi.advanceTimersByTime(60_000);
    const text = log(requestOf("/books/1?token=t0p"), 201, "json", 12);
    expect(text).toBe(
      '{"time":"2026-01-31T12:31:05.019Z","level":"info","msg":"request","method":"GET","path":"/books/1","status":201,"latency_ms":12.000,"ip":"127.0.0.1"}\n',
    );
    expect(JSON.parse(text).latency_ms).toBe(12);
  });

  it("A request with an unknown method, which gets 501, is not logged as an error", () => {
    expect(JSON.parse(log(requestOf("/", "BREW"), 501))).toMatchObject({ level: "info", method: "BREW", status: 501 });
    expect(JSON.parse(log(requestOf("/"), 501))).toMatchObject({ level: "error" });
    expect(JSON.parse(log(requestOf("/", "BREW"), 500))).toMatchObject({ level: "error" });
  });

  it("The logged time follows a change of the system clock", () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 31) });
    log(requestOf("/"));
    vi.setSystemTime(Date.UTC(2027, 5, 1));
    vi.advanceTimersByTime(1500);
    expect(JSON.parse(log(requestOf("/"))).time).toBe("2027-06-01T00:00:01.500Z");
  });

  it("The latency is logged with microseconds", () => {
    expect(log(requestOf("/"))).toMatch(/"latency_ms":\d+\.\d{3},/);
  });

  it.each([
    [200, "info"],
    [404, "info"],
    [499, "info"],
    [500, "error"],
    [503, "error"],
  ])("Status %d is logged at level %s", (status, level) => {
    expect(JSON.parse(log(requestOf("/"), status))).toMatchObject({ status, level });
  });

  it("The request's id is logged if there is one, and none is made", () => {
    const request = requestOf("/");
    expect(log(request)).not.toContain("request_id");
    const id = request.id;
    expect(JSON.parse(log(request)).request_id).toBe(id);
    request.context.request_id = "given";
    expect(JSON.parse(log(request)).request_id).toBe("given");
  });

  it("Nothing that a client sends can begin a line or an escape sequence in the log", () => {
    for (const format of ["json", "pretty"] as const) {
      const request = new Request({ ...fakeSource(hostileText, `/${hostileText}`), remoteAddress: hostileText });
      request.context.request_id = hostileText;
      const text = log(request, 200, format);
      expect(text.slice(0, -1)).not.toMatch(unsafeCharacter);
      expect(text.endsWith("\n")).toBe(true);
      if (format === "json") {
        expect(JSON.parse(text)).toMatchObject({
          level: "info",
          method: hostileText,
          path: `/${hostileText}`,
          ip: hostileText,
          request_id: hostileText,
        });
      }
    }
  });

  it("A method named like a member of an object is logged as text", () => {
    expect(JSON.parse(log(requestOf("/", "constructor"))).method).toBe("constructor");
  });

  it("A very long path is cut in the log", () => {
    expect(log(requestOf(`/${"a".repeat(100_000)}`)).length).toBeLessThan(3000);
  });

  it("An unknown address is left out of the log", () => {
    const request = new Request({ ...fakeSource(), remoteAddress: "" });
    expect(JSON.parse(log(request))).not.toHaveProperty("ip");
  });

  it("The pretty format is a readable line", () => {
    expect(log(requestOf("/books"), 404, "pretty")).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z GET {4}\/books 404 \d+\.\d{3} ms 127\.0\.0\.1\n$/,
    );
  });

  it("A sink that fails does not fail the request", () => {
    const middleware = requestLogger({
      sink: {
        write() {
          throw new Error("full");
        },
      },
    });
    expect(() => middleware.after(requestOf("/"), new Response(null))).not.toThrow();
  });

  it("enableLogging() refuses unknown options", () => {
    expect(() => new App().enableLogging({ fromat: "json" } as never)).toThrow(
      "unknown option 'fromat' in enableLogging(); did you mean 'format'?",
    );
  });
});
