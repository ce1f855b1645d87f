import { HttpError, Response } from "stoa";
import { describe, expect, it } from "vitest";
import { traced } from "./traced.js";

const statusError = 2;

describe("the span of a request", () => {
  it("is named by method and route template and has the attributes of the stable HTTP conventions", async () => {
    const { send, flush, collector, url } = await traced((app) => app.get("/books/{id}", () => ({ ok: true })));
    await send("/books/7?token=secret", { headers: { "user-agent": "a-browser/1.0" } });
    await flush();
    const [span] = collector.spans;
    expect(collector.spans).toHaveLength(1);
    expect(span).toMatchObject({ name: "GET /books/{id}", kind: 2, parentSpanId: null, scope: "stoa" });
    expect(span!.status).toBeUndefined();
    expect(span!.attributes).toEqual({
      "http.request.method": "GET",
      "http.route": "/books/{id}",
      "http.response.status_code": 200,
      "url.path": "/books/7",
      "url.scheme": "http",
      "server.address": "127.0.0.1",
      "server.port": Number(new URL(url).port),
      "client.address": "127.0.0.1",
      "user_agent.original": "a-browser/1.0",
    });
    expect(span!.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(span!.end).toBeGreaterThan(span!.start);
    expect(Math.abs(Number(span!.start / 1_000_000n) - Date.now())).toBeLessThan(60_000);
  });
});
