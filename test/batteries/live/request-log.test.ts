import { describe, expect, it } from "vitest";
import { LiveRequestLog } from "../../../src/batteries/live/request-log.js";
import { Response } from "../../../src/http/response.js";
import { fakeRequest } from "../../http/fake-source.js";

describe("a request in the live page", () => {
  it("A request in the live page has parts of bounded length, whatever was sent or thrown", () => {
    const log = new LiveRequestLog(10);
    const request = fakeRequest("M".repeat(1000));
    request.context.request_id = "i".repeat(10_000);
    request.error = Object.assign(new Error("m".repeat(10_000)), { stack: `Error\n    at ${"s".repeat(100_000)}` });
    log.add(request, new Response("x"), 1);
    const [entry] = log.since(0);
    expect(JSON.stringify(entry).length).toBeLessThan(6000);
    expect([entry!.id!.length, entry!.method.length, entry!.error!.stack!.length]).toEqual([100, 20, 4000]);
  });
});
