import { beforeAll, describe, expect, it } from "vitest";
import type { Editor } from "./language-service.js";

const cases: readonly (readonly [code: string, comment: string])[] = [
  ["app.run({ |port: 1 })", "Port to listen on"],
  ["app.run({ |shutdownTimeout: 1 })", "Time from the signal"],
  ["app.enableCors({ |maxAge: 1 })", "Time for which a browser"],
  ["app.enableCaching({ |staleIfError: 1 })", "Time for which a stale response"],
  ["app.enableSessions({ |secret: 'x' })", "Seals sessions"],
  ["app.enableOpenapi({ |title: 'x' })", "Default"],
  ["app.get('/', { |timeout: 1 }, () => 1)", "Time until the client gets 504"],
  ["app.get('/', { |summary: 'x' }, () => 1)", "A short title"],
  ["app.get('/', { rateLimit: { |maxRequests: 1, windowSecs: 1 } }, () => 1)", "Requests"],
  ["app.get('/', { cache: { |ttl: 1 } }, () => 1)", "Time for which a response is cached"],
  ["app.post('/', { circuitBreaker: { |failureThreshold: 1 } }, () => 1)", "Failures in a row"],
  ["app.route('/', { methods: ['GET'], cache: { |ttl: 1 } }, () => 1)", "Time for which a response is cached"],
  ["app.websocket('/', { |maxMessageSize: 1 }, () => {})", "Bytes of one message"],
];
/** The comments of options wherever they are nested, in an editor. */
export function hoverTests(makeEditor: (imports: string) => Editor): void {
  describe("comments of options in an editor", () => {
    let editor: Editor;
    let comments: string[];
    beforeAll(() => {
      editor = makeEditor('import { App, RateLimitConfig } from "stoa";\nconst app = new App();');
      comments = editor.eachComment(cases.map(([code]) => `${code};`).join("\n"));
    });

    it.each(cases.map(([code, comment], index) => ({ code, comment, index })))(
      "An editor shows the comment of the option in $code",
      ({ comment, index }) => {
        expect(comments[index]).toContain(comment);
      },
    );

    it("Options in the other spelling are known to the compiler, and unknown ones are not", () => {
      expect(editor.errors("app.enableCors({ max_age: 1 }); app.run({ shutdown_timeout: 1 });")).toEqual([]);
      expect(editor.errors("app.enableCors({ max_ages: 1 });")).toHaveLength(1);
    });
  });
}
