import {
  ApiKeyAuth,
  App,
  Authenticated,
  BasicAuth,
  ForbiddenError,
  GuardError,
  JwtAuth,
  JwtConfig,
  UnauthorizedError,
} from "stoa";
import { describe, expect, it } from "vitest";
import { forge, inOneHour, secret } from "../auth/tokens.js";
import { served, transports } from "./support.js";

const jwt = new JwtAuth(new JwtConfig({ secret: Buffer.from(secret), algorithm: "HS256", expiration: 3600 }));
const body401 = { error: "Unauthorized", detail: expect.any(String), status: 401 };

/** One path below which each method of the contract is used alone, and one where two are combined. */
function authApp(): App {
  const app = new App();
  const basic = new BasicAuth((username, password) => username === "ada" && password === "love:lace");
  const keys = new ApiKeyAuth({ "key-1": "billing", "key-2": "search" }, "X-API-Key");
  const seen: string[] = [];
  const note = (name: string) => ({ early: true, before: () => void seen.push(name) });
  jwt.skip_path("/jwt/login");
  for (const [path, auth] of [
    ["/jwt", jwt],
    ["/basic", basic],
    ["/key", keys],
  ] as const) {
    app.get(path, { middleware: [auth] }, (request) => request.context);
  }
  app.get("/jwt/login", { middleware: [jwt] }, () => "open");
  app.get("/jwt/loginx", { middleware: [jwt] }, () => "closed");
  app.get("/both", { middleware: [basic, note("basic"), keys, note("key")] }, (request) => request.context);
  app.get("/seen", () => seen.splice(0));
  app.get("/guarded", { guards: [Authenticated()] }, () => "in");
  app.get(
    "/forbidden",
    {
      guards: [
        () => {
          throw new ForbiddenError("no");
        },
      ],
    },
    () => "in",
  );
  return app;
}

describe.each(transports)("authentication over %s", (transport) => {
  const { get } = served(authApp, transport);
  const ask = (path: string, headers: Record<string, string> = {}) => get(path, { headers });

  it("Rule 1: a token is valid if signature and expiry are; missing, malformed or expired gives 401", async () => {
    const token = jwt.create_token({ sub: "ada" });
    const answer = await ask("/jwt", { authorization: `Bearer ${token}` });
    expect([answer.status, answer.json]).toMatchObject([200, { jwt_claims: { sub: "ada" } }]);
    const wrong = [
      undefined,
      "Bearer",
      "Bearer x",
      `Bearer ${forge({ exp: 1 })}`,
      `Bearer ${forge({ exp: inOneHour() }, undefined, "other")}`,
    ];
    for (const authorization of wrong) {
      const refused = await ask("/jwt", authorization === undefined ? {} : { authorization });
      expect([refused.status, refused.json]).toEqual([401, body401]);
    }
  });

  it("Rule 2: Basic decodes the header and calls the function", async () => {
    const as = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString("base64")}` });
    expect((await ask("/basic", as("ada:love:lace"))).json).toEqual({ user: "ada" });
    for (const headers of [{}, as("ada:wrong"), as("bob:love:lace"), as("no colon"), { authorization: "Basic %%%" }]) {
      const refused = await ask("/basic", headers);
      expect([refused.status, refused.json]).toEqual([401, body401]);
    }
  });

  it("Rule 3: an API key is read from the named header and gives its name", async () => {
    expect((await ask("/key", { "X-API-Key": "key-2" })).json).toEqual({ api_key_name: "search" });
    for (const headers of [{}, { "X-API-Key": "key-3" }, { "X-API-Key": "__proto__" }, { "X-Other": "key-1" }]) {
      const refused = await ask("/key", headers as Record<string, string>);
      expect([refused.status, refused.json]).toEqual([401, body401]);
    }
  });

  it("Rule 4: a skipped path is not authenticated, and one that only begins alike is", async () => {
    expect((await ask("/jwt/login")).status).toBe(200);
    expect((await ask("/jwt/loginx")).status).toBe(401);
  });

  it("Rule 5: several authentication middlewares are applied in the order added", async () => {
    const basic = { authorization: `Basic ${Buffer.from("ada:love:lace").toString("base64")}` };
    await ask("/seen");
    expect((await ask("/both", { ...basic, "X-API-Key": "key-1" })).json).toEqual({
      user: "ada",
      api_key_name: "billing",
    });
    expect((await ask("/both", basic)).status).toBe(401);
    expect((await ask("/both", { "X-API-Key": "key-1" })).status).toBe(401);
    expect((await ask("/seen")).json).toEqual(["basic", "key", "basic"]);
  });

  it("Rules 7 and 8: every 401 names the scheme; guards give 401 or 403", async () => {
    for (const path of ["/jwt", "/basic", "/key", "/guarded"]) {
      const refused = await ask(path);
      expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
        401,
        expect.stringMatching(/^(Bearer|Basic|ApiKey)/),
      ]);
    }
    expect((await ask("/forbidden")).status).toBe(403);
  });
});

describe("the errors of guards", () => {
  it("Errors of guards derive from GuardError, with status_code and message", () => {
    for (const [error, status] of [
      [new UnauthorizedError("a"), 401],
      [new ForbiddenError("a"), 403],
    ] as const) {
      expect(error).toBeInstanceOf(GuardError);
      expect([error.status_code, error.message]).toEqual([status, "a"]);
    }
  });
});
