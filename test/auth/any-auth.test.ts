import { AnyAuth, ApiKeyAuth, App, Authenticated, BasicAuth, JwtAuth } from "stoa";
import { describe, expect, it } from "vitest";
import { secret } from "./tokens.js";

const basic = { authorization: `Basic ${Buffer.from("ada:secret").toString("base64")}` };
const key = { "x-api-key": "k" };

function parts() {
  return {
    jwt: new JwtAuth({ secret }),
    byPassword: new BasicAuth((user, password) => user === "ada" && password === "secret"),
    byKey: new ApiKeyAuth({ k: "billing" }),
  };
}

function appWith(...middleware: Parameters<App["use"]>): App {
  const app = new App().use(...middleware);
  for (const path of ["/", "/open", "/half", "/half/below"]) app.get(path, (request) => request.context);
  return app;
}

async function ask(app: App, path: string, headers: Record<string, string>): Promise<[number, unknown]> {
  const response = await app.request(path, { headers });
  return [response.status, response.status === 200 ? await response.json() : response.headers.get("www-authenticate")];
}

describe("several authentication middlewares", () => {
  it("A request must pass all authentication middlewares, in the order added", async () => {
    const { byPassword, byKey } = parts();
    const app = appWith(byPassword, byKey);
    expect(await ask(app, "/", { ...basic, ...key })).toEqual([200, { user: "ada", api_key_name: "billing" }]);
    expect(await ask(app, "/", basic)).toEqual([401, 'ApiKey header="X-API-Key"']);
    expect(await ask(app, "/", key)).toEqual([401, 'Basic realm="restricted", charset="UTF-8"']);
    expect((await ask(app, "/", {}))[1]).toContain("Basic");
  });

  it("Each authentication middleware skips only its own paths", async () => {
    const { byPassword, byKey } = parts();
    byPassword.skipPath("/open", "/half");
    byKey.skip_path("/open");
    const app = appWith(byPassword, byKey);
    expect(await ask(app, "/open", {})).toEqual([200, {}]);
    expect(await ask(app, "/half", key)).toEqual([200, { api_key_name: "billing" }]);
    expect(await ask(app, "/half/below", {})).toEqual([401, 'ApiKey header="X-API-Key"']);
  });

  it("A skipped path still has its guards, which find no user there", async () => {
    const { byKey } = parts();
    const app = new App().use(byKey.skipPath("/guarded"));
    app.get("/guarded", { guards: [Authenticated()] }, () => "in");
    expect((await app.request("/guarded")).status).toBe(401);
  });

  it("Authentication refuses before 404 and 405, so that clients cannot probe for routes", async () => {
    const app = appWith(parts().byKey);
    expect((await app.request("/nowhere")).status).toBe(401);
    expect((await app.request("/", { method: "DELETE" })).status).toBe(401);
    expect((await app.request("/nowhere", { headers: key })).status).toBe(404);
  });

  it("Authentication refuses a request before its body is read", async () => {
    let read = false;
    const body = new ReadableStream(
      {
        pull(controller) {
          read = true;
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const app = new App().use(parts().byKey);
    app.post("/", () => "in");
    const response = await app.request("/", { method: "POST", body, duplex: "half" } as RequestInit);
    expect([response.status, read]).toEqual([401, false]);
  });
});

describe("AnyAuth", () => {
  it("AnyAuth accepts a request that one of its parts accepts, with only that part's context", async () => {
    const { jwt, byPassword, byKey } = parts();
    const app = appWith(new AnyAuth(jwt, byPassword, byKey));
    expect(await ask(app, "/", basic)).toEqual([200, { user: "ada" }]);
    expect(await ask(app, "/", key)).toEqual([200, { api_key_name: "billing" }]);
    const bearer = { authorization: `Bearer ${jwt.createToken({ sub: "ada" })}` };
    expect(await ask(app, "/", { ...bearer, ...key })).toMatchObject([200, { jwt_claims: { sub: "ada" } }]);
  });

  it("AnyAuth tries the next part if one refuses, also asynchronously", async () => {
    const slow = new BasicAuth(async () => false);
    const app = appWith(new AnyAuth(slow, parts().byKey));
    expect(await ask(app, "/", { ...basic, ...key })).toEqual([200, { api_key_name: "billing" }]);
  });

  it("AnyAuth responds with 401 that lists every scheme", async () => {
    const { jwt, byPassword, byKey } = parts();
    const app = appWith(new AnyAuth(jwt, byPassword, byKey));
    const response = await app.request("/", { headers: { "x-api-key": "wrong" } });
    expect(response.headers.get("www-authenticate")).toBe(
      'Bearer, Basic realm="restricted", charset="UTF-8", ApiKey header="X-API-Key"',
    );
    expect(await response.json()).toEqual({
      error: "Unauthorized",
      detail: "Valid credentials are required.",
      status: 401,
    });
  });

  it("AnyAuth uses its own skipped paths, not those of its parts", async () => {
    const { jwt, byKey } = parts();
    jwt.skipPath("/half");
    const app = appWith(new AnyAuth(jwt, byKey).skipPath("/open"));
    expect((await ask(app, "/open", {}))[0]).toBe(200);
    expect((await ask(app, "/half", {}))[0]).toBe(401);
  });

  it("A part of AnyAuth that throws is a 500, not a refusal", async () => {
    const broken = new BasicAuth(() => {
      throw new Error("down");
    });
    const app = appWith(new AnyAuth(broken, parts().byKey));
    app.logger = { ...app.logger, error() {} };
    expect((await ask(app, "/", { ...basic, ...key }))[0]).toBe(500);
  });

  it("AnyAuth needs two or more authentication middlewares", () => {
    expect(() => new AnyAuth()).toThrow("AnyAuth takes two or more authentication middlewares");
    expect(() => new AnyAuth(parts().jwt, (() => true) as never)).toThrow("AnyAuth takes");
  });
});

describe("the documentation of an API", () => {
  it("Each authentication middleware describes its scheme and its skipped paths", () => {
    const { jwt, byPassword, byKey } = parts();
    expect([jwt, byPassword, byKey].map((auth) => [auth.schemeName, auth.securityScheme])).toEqual([
      ["bearerAuth", { type: "http", scheme: "bearer", bearerFormat: "JWT" }],
      ["basicAuth", { type: "http", scheme: "basic" }],
      ["apiKeyAuth", { type: "apiKey", in: "header", name: "X-API-Key" }],
    ]);
    expect([jwt.skipPath("/docs").skips("/docs"), jwt.skips("/books")]).toEqual([true, false]);
    expect(new AnyAuth(jwt, byKey).alternatives).toEqual([jwt, byKey]);
  });
});
