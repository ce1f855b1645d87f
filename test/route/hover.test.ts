import { beforeAll, expect, it } from "vitest";
import { openEditor } from "../support/language-service.js";

const editor = openEditor('import { App, RateLimitConfig } from "stoa";\nconst app = new App();');

// The first question reads and checks all sources.
beforeAll(() => void editor.comment("app.run({ |port: 1 })"), 300_000);

it.each([
  ["app.run({ |port: 1 })", "Port to listen on"],
  ["app.run({ |shutdownTimeout: 1 })", "Seconds from the signal"],
  ["app.enableCors({ |maxAge: 1 })", "Seconds for which a browser"],
  ["app.enableCaching({ |staleIfError: 1 })", "Seconds for which a stale response"],
  ["app.enableSessions({ |secret: 'x' })", "Seals sessions"],
  ["app.enableOpenapi({ |title: 'x' })", "Default"],
  ["app.get('/', { |timeout: 1 }, () => 1)", "Seconds until the client gets 504"],
  ["app.get('/', { |summary: 'x' }, () => 1)", "A short title"],
  ["app.get('/', { rateLimit: { |maxRequests: 1, windowSecs: 1 } }, () => 1)", "Requests"],
  ["app.get('/', { cache: { |ttl: 1 } }, () => 1)", "Seconds"],
  ["app.post('/', { circuitBreaker: { |failureThreshold: 1 } }, () => 1)", "Failures in a row"],
  ["app.route('/', { methods: ['GET'], cache: { |ttl: 1 } }, () => 1)", "Seconds"],
  ["app.websocket('/', { |maxMessageSize: 1 }, () => {})", "Bytes of one message"],
])("An editor shows the comment of the option in %s", (code, comment) => {
  expect(editor.comment(code)).toContain(comment);
});

it("Options in the other spelling are known to the compiler, and unknown ones are not", () => {
  expect(editor.errors("app.enableCors({ max_age: 1 }); app.run({ shutdown_timeout: 1 });")).toEqual([]);
  expect(editor.errors("app.enableCors({ max_ages: 1 });")).toHaveLength(1);
});
