import { describe, expect, it } from "vitest";
import { httpError } from "../../src/errors/http-error.js";
import { Response } from "../../src/http/response.js";
import type { Logger } from "../../src/kit/logger.js";
import { Refusals } from "../../src/server/refusals.js";
import { echo, get, start, transports } from "./support.js";

describe.each(transports)("a request that the %s transport refuses", (_name, factory) => {
  it.each([
    ["a malformed field", "GET / HTTP/1.1\r\nHost: a\r\nA b: c\r\n\r\n", "MALFORMED_REQUEST"],
    ["a missing Host", "GET / HTTP/1.1\r\n\r\n", "MALFORMED_REQUEST"],
    ["CONNECT", "CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n", "NOT_IMPLEMENTED"],
    ["another expectation", "GET / HTTP/1.1\r\nHost: a\r\nExpect: b\r\n\r\n", "EXPECTATION_FAILED"],
  ])("A request that the transport refuses is reported once: %s", async (_what, bytes, code) => {
    const { exchange, refusals } = await start(factory, echo);
    await exchange(bytes);
    expect(refusals).toEqual([code]);
  });

  it("A request whose head is late is reported as a refusal", async () => {
    const { exchange, refusals } = await start(factory, echo, { headTimeout: 0.2 });
    await exchange("GET / HTTP/1.1\r\nHo");
    expect(refusals).toEqual(["REQUEST_TIMEOUT"]);
  });

  it("A 400 response of the application is not reported as a refusal", async () => {
    const { exchange, refusals } = await start(factory, () => new Response("no", 400));
    await exchange(get("/", "Connection: close\r\n"));
    expect(refusals).toEqual([]);
  });
});

describe("refusals", () => {
  it("Refusals are counted by code, and logged at most once in ten seconds", () => {
    const lines: unknown[] = [];
    const logger = { info: (message: string, fields: unknown) => lines.push([message, fields]) } as unknown as Logger;
    let now = 0;
    const refusals = new Refusals({ logger }, () => now);
    for (let i = 0; i < 1000; i++) {
      now += 19;
      refusals.add(httpError(i % 2 === 0 ? "MALFORMED_REQUEST" : "REQUEST_TIMEOUT"));
    }
    expect(Object.fromEntries(refusals.counts)).toEqual({ MALFORMED_REQUEST: 500, REQUEST_TIMEOUT: 500 });
    const message = "a request was refused before the application saw it";
    expect(lines).toEqual([
      [message, { status: 400, code: "MALFORMED_REQUEST" }],
      [message, { status: 408, code: "REQUEST_TIMEOUT", not_logged: 526 }],
    ]);
  });
});
