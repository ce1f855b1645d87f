import { beforeAll, describe, expect, it } from "vitest";
import { openEditor } from "../support/language-service.js";

const editor = openEditor(`
import { ApiKeyAuth, App, BasicAuth, Blueprint, JwtAuth, JwtConfig, KvStoreConfig, RateLimitConfig } from "stoa";
const app = new App();`);

/** Calls without an option. */
const plain = ["enableRequestContext", "enableRequestId"];

const others = [
  "app.run({ @ })",
  "app.trustProxy({ @ })",
  "app.get('/', { @ }, () => 1)",
  "app.get('/', { rateLimit: { @ } }, () => 1)",
  "app.get('/', { cache: { @ } }, () => 1)",
  "new Blueprint('/x', { @ })",
  "new JwtAuth({ @ })",
  "new JwtConfig({ @ })",
  "new BasicAuth({ @ })",
  "new KvStoreConfig({ @ })",
  "new RateLimitConfig({ @ })",
  "app.enableKvstore({ tls: { @ } })",
  "app.enableMessaging({ sasl: { @ } })",
  "app.enableSessions({ cookie: { @ } })",
  "app.enableDatabase({ logQueries: { @ } })",
];

let comments: { readonly call: string; readonly option: string; readonly comment: string }[];
let enabling: string[];

// The first question reads and checks all sources.
beforeAll(() => {
  enabling = editor.completions("app.enable|").filter((name) => /^enable[A-Z]/.test(name));
  const calls = [
    ...enabling.filter((name) => !plain.includes(name)).map((name) => `app.${name}({ @ })`),
    ...others,
  ];
  const offered = editor.eachCompletions(calls.map((call) => `${call.replace("@", "|")};`).join("\n"));
  const asked = calls.flatMap((call, index) =>
    offered[index]!.filter((option) => !option.includes("_")).map((option) => ({ call, option })),
  );
  const shown = editor.eachComment(
    asked.map(({ call, option }) => `${call.replace("@", `|${option}: null!`)};`).join("\n"),
  );
  comments = asked.map((each, index) => ({ ...each, comment: shown[index]! }));
}, 300_000);

describe("an editor", () => {
  it("An editor shows the comment of every option of every call that enables a feature", () => {
    expect(enabling.length).toBeGreaterThan(30);
    expect(comments.filter(({ comment }) => comment === "").map(({ call, option }) => `${option} in ${call}`)).toEqual(
      [],
    );
  });

  it("An editor offers the options of all these calls", () => {
    const count = new Map<string, number>();
    for (const { call } of comments) count.set(call, (count.get(call) ?? 0) + 1);
    console.log([...count]);
  });
});
