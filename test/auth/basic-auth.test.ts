import { App, BasicAuth, constantTimeEqual, type VerifyFunction } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";
import fc from "../support/properties.js";

function basicApp(verify: VerifyFunction = (user, password) => user === "ada" && password === "secret"): App {
  const app = new App().use(new BasicAuth(verify));
  app.get("/", (request) => ({ user: request.context.user }));
  return app;
}

const encoded = (text: string | Buffer): string => `Basic ${Buffer.from(text as string).toString("base64")}`;

async function statusOf(app: App, authorization: string): Promise<number> {
  return (await app.request("/", { headers: { authorization } })).status;
}

describe("BasicAuth", () => {
  it("BasicAuth puts the user's name into the context if verify returns true", async () => {
    const response = await basicApp().request("/", { headers: { authorization: encoded("ada:secret") } });
    expect([response.status, await response.json()]).toEqual([200, { user: "ada" }]);
  });

  it("BasicAuth awaits a verify function that returns a promise", async () => {
    const app = basicApp(async (_user, password) => password === "later");
    expect(await statusOf(app, encoded("ada:later"))).toBe(200);
    expect(await statusOf(app, encoded("ada:never"))).toBe(401);
  });

  it("BasicAuth responds with 401, the contract's exact body and the scheme", async () => {
    const response = await basicApp().request("/");
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe('Basic realm="restricted", charset="UTF-8"');
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({
      error: "Unauthorized",
      detail: "A user name and a password are required.",
      status: 401,
    });
  });

  it("BasicAuth gives an unknown user, a wrong password and unreadable credentials the same response", async () => {
    const app = basicApp();
    const answers = await Promise.all(
      [encoded("bob:secret"), encoded("ada:wrong"), "Basic !!!", "Basic"].map(async (authorization) => {
        const response = await app.request("/", { headers: { authorization } });
        return [response.status, await response.text(), response.headers.get("www-authenticate")];
      }),
    );
    for (const answer of answers.slice(1)) expect(answer).toEqual(answers[0]);
  });

  it("BasicAuth accepts a password with colons, an empty one, and UTF-8", async () => {
    const seen: string[][] = [];
    const app = basicApp((...given) => seen.push(given) > 0);
    for (const text of ["ada:a:b:c", "ada:", ":x", "ünï:pässwörd €"])
      expect(await statusOf(app, encoded(text))).toBe(200);
    expect(seen).toEqual([
      ["ada", "a:b:c"],
      ["ada", ""],
      ["", "x"],
      ["ünï", "pässwörd €"],
    ]);
  });

  it("BasicAuth accepts the scheme's name in any case, and several spaces behind it", async () => {
    const base64 = Buffer.from("ada:secret").toString("base64");
    for (const scheme of ["basic", "BASIC", "Basic  "])
      expect(await statusOf(basicApp(), `${scheme} ${base64}`)).toBe(200);
  });

  it("BasicAuth refuses every malformed credential without calling verify", async () => {
    let asked = 0;
    const app = basicApp(() => ++asked > 0);
    const good = Buffer.from("ada:secret").toString("base64");
    const malformed = [
      "",
      "Basic",
      "Basic ",
      "Bearer abc",
      `Basic${good}`,
      `Basic ${good} x`,
      `Basic ${good}, Basic ${good}`,
      `Basic ${good.slice(0, -1)}`,
      `Basic ${good}=`,
      `Basic =${good}`,
      `Basic ${good.slice(0, 4)}*${good.slice(4)}`,
      "Basic YWRhOnNlY3JldB==",
      "Basic _-__",
      encoded("no colon"),
      encoded("ada:nul\0"),
      encoded("ada:\nline"),
      encoded(Buffer.from([0x61, 0x3a, 0xff, 0xfe])),
      encoded(Buffer.from([0x61, 0x3a, 0xc0, 0x80])),
      encoded(`ada:${"x".repeat(12_000)}`),
    ];
    for (const authorization of malformed) expect(await statusOf(app, authorization), authorization).toBe(401);
    expect(asked).toBe(0);
  });

  it("BasicAuth accepts only `true` from verify", async () => {
    for (const verdict of [1, "yes", {}, null, undefined, false]) {
      expect(await statusOf(basicApp((() => verdict) as never), encoded("a:b"))).toBe(401);
      expect(await statusOf(basicApp((async () => verdict) as never), encoded("a:b"))).toBe(401);
    }
  });

  it("BasicAuth whose verify throws lets nobody in, and the response shows nothing of the error", async () => {
    const app = basicApp(() => {
      throw new Error("the user table is gone");
    });
    app.logger = { ...app.logger, error() {} };
    await using server = await serve(app, { debug: false });
    const response = await fetch(server.url, { headers: { authorization: encoded("a:b") } });
    expect([response.status, await response.json()]).toEqual([500, { error: "Internal Server Error", status: 500 }]);
  });

  it("BasicAuth responds to random credentials with nothing but 401", async () => {
    const app = basicApp(() => false);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary-ascii" }), async (text) => {
        const authorization = `Basic ${text.replace(/[^\x20-\x7e]/g, "")}`.trim();
        expect(await statusOf(app, authorization)).toBe(401);
      }),
    );
  });

  it("BasicAuth accepts its arguments in every form, and refuses others with a reason", async () => {
    const verify = (): boolean => true;
    const realmOf = async (auth: BasicAuth): Promise<string | null> => {
      const app = new App().use(auth);
      return (await app.request("/")).headers.get("www-authenticate");
    };
    expect(await realmOf(new BasicAuth(verify, "Books"))).toBe('Basic realm="Books", charset="UTF-8"');
    expect(await realmOf(new BasicAuth({ verifyFunction: verify, realm: "Books" }))).toContain("Books");
    expect(await realmOf(new BasicAuth({ verify_function: verify }))).toContain("restricted");
    expect(() => new BasicAuth(undefined as never)).toThrow("option 'verifyFunction' is required in BasicAuth");
    expect(() => new BasicAuth("x" as never)).toThrow("must be a function");
    expect(() => new BasicAuth(verify, 'a"b')).toThrow("option 'realm' in BasicAuth must be printable ASCII");
  });
});

describe("constantTimeEqual", () => {
  it("constantTimeEqual() compares texts of any length correctly", () => {
    fc.assert(fc.property(fc.string(), fc.string(), (a, b) => constantTimeEqual(a, b) === (a === b)));
    fc.assert(fc.property(fc.string(), (a) => constantTimeEqual(a, `${a}`) && !constantTimeEqual(a, `${a}x`)));
  });
});
