import { describe, expect, it } from "vitest";
import { acceptedByNode } from "./differences.js";
import { refusedCases } from "./refused.js";
import { echo, parseResponses, startForAll, transports } from "./support.js";

describe.each(transports)("refusals of the %s transport", (name, factory) => {
  const explained = refusedCases.filter((refused) => name === "node" && refused.name in acceptedByNode);
  const served = (title: string) => name === "http2" && title === "the preface of HTTP/2";
  const cases = refusedCases.filter((refused) => !explained.includes(refused) && !served(refused.name));

  const server = startForAll(factory, echo, { bodyTimeout: 0.5 });

  it.each(cases)("A malformed request is refused: $name", async ({ bytes, statuses }) => {
    const text = await server().exchange(bytes);
    const responses = parseResponses(text);
    expect(statuses).toContain(responses[0]?.status);
    expect(responses).toHaveLength(1);
    expect(responses[0]!.headers.connection).toBe("close");
    expect(responses[0]!.headers["content-type"]).toBe("application/problem+json");
    expect(Object.keys(JSON.parse(responses[0]!.body))).toEqual(["type", "title", "status", "detail", "error"]);
    expect(text).not.toContain("hidden");
  });

  it.each(explained)(
    "A malformed request is handled with an explained difference by node:http: $name",
    async ({ name: title, bytes }) => {
      const waits = acceptedByNode[title]!.outcome === "waits";
      const connection = await server().client(bytes);
      const [first] = await connection.responses(1);
      expect(first!.status).toBe(waits ? 408 : 200);
      expect(first!.body).not.toContain("hidden");
    },
  );
});

describe.each(transports)("a spoiled head on the %s transport", (name, factory) => {
  const server = startForAll(factory, echo, { headTimeout: 3600 });

  // The bad byte is the last one sent: the refusal must not wait for the rest or for a timeout.
  it.each([
    ["a control character", "GET /\x01"],
    ["a bare LF", "GET / HTTP/1.1\n"],
    ["a version that is none", "GET / HTTX/1.1\r\n"],
    ["a folded line", "GET / HTTP/1.1\r\nA: b\r\n "],
    ["a bare CR", "GET / HTTP/1.1\r\nA: b\rc"],
    ["a name with a blank", "GET / HTTP/1.1\r\nA b"],
    ["a method that is too long", "A".repeat(100)],
    ["a target that is too long", `GET /${"a".repeat(20_000)}`],
    ["a value that is too long", `GET / HTTP/1.1\r\nA: ${"a".repeat(40_000)}`],
  ])("A malformed head is refused as soon as the parser finds %s", async (title, bytes) => {
    // node:http counts the bytes of a head, and does not show a head before it is whole.
    if (name === "node" && title === "a target that is too long") return;
    const whole = await server().client(bytes);
    expect((await whole.responses(1))[0]?.status, title).toBeGreaterThanOrEqual(400);
    if (/too long/.test(title)) return;
    const split = await server().client(bytes.slice(0, -1));
    await new Promise((resolve) => setTimeout(resolve, 20));
    split.send(bytes.slice(-1));
    expect((await split.responses(1))[0]?.status, title).toBeGreaterThanOrEqual(400);
  });
});
