import { beforeAll, describe, expect, it } from "vitest";
import { snakeCase } from "../../../src/kit/names.js";
import type { Editor } from "./language-service.js";

const imports = `
import { App, BasicAuth, Blueprint, DatabaseConfig, JwtAuth, JwtConfig, KvStoreConfig, RateLimitConfig } from "stoa";
const app = new App();`;

/** Calls without an option. */
const withoutOptions = ["enableRequestContext", "enableRequestId"];

/** Other places that take options; `@` stands for them. */
const places = [
  "app.run({ @ })",
  "app.trustProxy({ @ })",
  "app.get('/', { @ }, () => 1)",
  "app.route('/', { @ }, () => 1)",
  "app.websocket('/', { @ }, () => 1)",
  "new Blueprint('/x', { @ })",
  "new JwtAuth({ @ })",
  "new JwtConfig({ @ })",
  "new BasicAuth({ @ })",
  "new DatabaseConfig({ @ })",
  "new KvStoreConfig({ @ })",
  "new RateLimitConfig({ @ })",
  "app.run({ tls: { @ } })",
  "app.run({ tls: { cert: '', key: '', clientCertificates: { @ } } })",
  "app.run({ http2: { @ } })",
  "app.enableKvstore({ tls: { @ } })",
  "app.enableMessaging({ tls: { @ } })",
  "app.enableGraphql({ limits: { @ } })",
  "app.enableGraphql({ persisted: { @ } })",
  "app.enableGraphql({ subscriptions: { @ } })",
  "app.enableGraphql({ uploads: { @ } })",
  "app.enableMcp({ oauth: { @ } })",
  "app.enableSecurityHeaders({ hsts: { @ } })",
  "app.enableMessaging({ sasl: { @ } })",
  "app.enableSessions({ cookie: { @ } })",
  "app.enableDatabase({ logQueries: { @ } })",
];

/** Options of every call, in an editor. */
export function optionTests(makeEditor: (imports: string) => Editor): void {
  describe("options in an editor", () => {
    let editor: Editor;
    let calls: string[];
    /** The suggestions for each call. */
    let offered: string[][];

    beforeAll(() => {
      editor = makeEditor(imports);
      const enabling = editor.completions("app.enable|").filter((name) => /^enable[A-Z]/.test(name));
      calls = enabling.filter((name) => !withoutOptions.includes(name)).map((name) => `app.${name}({ @ })`);
      calls.push(...places);
      offered = editor
        .eachCompletions(withEach(calls, "|"))
        // A directory can be a URL: its members are suggested too.
        .map((names, index) =>
          names.filter((name) => !(/StaticFiles|Migrations/.test(calls[index]!) && name in URL.prototype)),
        );
    });

    it("An editor suggests the options of every call that enables a feature, in both spellings and nothing else", () => {
      expect(calls.length).toBeGreaterThan(45);
      calls.forEach((call, index) => {
        const names = offered[index]!.filter((name) => !name.includes("_"));
        const expected = new Set([...names, ...names.map(snakeCase)]);
        expect([call, new Set(offered[index])]).toEqual([call, expected]);
        expect(names.length, call).toBeGreaterThan(0);
      });
    });

    it("An editor shows the comment of every option of every call that enables a feature", () => {
      const asked = calls.flatMap((call, index) =>
        offered[index]!.filter((option) => !option.includes("_")).map((option) => ({ call, option })),
      );
      const comments = editor.eachComment(
        asked.map(({ call, option }) => withEach([call], `|${option}: null!`)).join("\n"),
      );
      const missing = asked.filter((_, index) => comments[index] === "");
      expect(missing.map(({ call, option }) => `${option} in ${call}`)).toEqual([]);
    });

    it("An error names the option that is unknown, in every call that enables a feature", () => {
      const enabling = calls.filter((call) => /^app\.enable\w+\(\{ @ \}\)$/.test(call));
      const errors = editor.errors(withEach(enabling, "nonsense: 1"));
      expect(errors).toHaveLength(enabling.length);
      for (const error of errors)
        expect(error).toMatch(/^Object literal may only specify known properties, .*'nonsense'/);
    });

    it.each([
      ["app.enableDatabase({ url: 5 })", "Type 'number' is not assignable to type 'string'."],
      ["app.enableRateLimit({ maxRequests: 'x' })", "Type 'string' is not assignable to type 'number'."],
      ["app.enableCaching({ ttl: 'x' })", "Type '\"x\"' is not assignable to type 'Duration | undefined'."],
    ])("The error of an option with a wrong value is about that value in %s", (code, message) => {
      expect(editor.errors(code)).toEqual([message]);
    });

    it("A config class is accepted where its options are, and no other config class is", () => {
      expect(
        editor.errors(`
        app.enableKvstore(new KvStoreConfig());
        app.enableDatabase(new DatabaseConfig("postgres://localhost/x"));
        app.enableRateLimit(RateLimitConfig.slidingWindow(1, 1));
        app.get("/", { rateLimit: RateLimitConfig.slidingWindow(1, 1) }, () => 1);
        new JwtAuth(new JwtConfig("x"));`),
      ).toEqual([]);
      expect(editor.errors("app.enableGraphql(new KvStoreConfig());")).toHaveLength(1);
    });
  });
}

function withEach(list: readonly string[], options: string): string {
  return list.map((call) => `${call.replace("@", options)};`).join("\n");
}
