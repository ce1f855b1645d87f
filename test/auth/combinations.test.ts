import { AnyAuth, ApiKeyAuth, App, JwtAuth } from "stoa";
import { testClient } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { secret } from "./tokens.js";

describe("authentication and other features", () => {
  it("Authentication with CORS accepts a preflight without credentials, and its refusals are readable by the page", async () => {
    const app = new App().use(new JwtAuth({ secret })).enableCors(["https://app.example"]);
    app.get("/", () => "in");
    const origin = { origin: "https://app.example" };
    const preflight = {
      ...origin,
      "access-control-request-method": "GET",
      "access-control-request-headers": "authorization",
    };
    expect((await app.request("/", { method: "OPTIONS", headers: preflight })).ok).toBe(true);
    const refused = await app.request("/", { headers: origin });
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, "https://app.example"]);
  });

  it("Authentication with the response cache never gives one client's response to another", async () => {
    const app = new App().use(new ApiKeyAuth({ a: "alice", b: "bob" }).skipPath("/open")).enableCaching();
    app.get("/me", (request) => ({ me: request.context.api_key_name }));
    app.get("/open", () => ({ at: performance.now() }));
    const me = async (key?: string): Promise<unknown> => {
      const response = await app.request("/me", key === undefined ? {} : { headers: { "x-api-key": key } });
      return response.ok ? response.json() : response.status;
    };
    for (let i = 0; i < 2; i++)
      expect([await me("a"), await me("b"), await me()]).toEqual([{ me: "alice" }, { me: "bob" }, 401]);
    const open = async (): Promise<string> => (await app.request("/open")).text();
    expect(await open()).toBe(await open());
  });

  it("The response cache never gives a response that used a session to another client", async () => {
    const app = new App().enableSessions({ secret }).enableCsrf({ tokens: true }).enableCaching();
    app.get("/form", (request) => request.csrfToken());
    app.get("/count", (request) => {
      const count = Number(request.session.get("count") ?? 0) + 1;
      request.session.set("count", count);
      return { count };
    });
    const forms = await Promise.all([testClient(app).get("/form"), testClient(app).get("/form")]);
    const [one, two] = await Promise.all(forms.map((response) => response.text()));
    expect(one).not.toBe(two);
    const client = testClient(app);
    for (const count of [1, 2, 3]) expect(await (await client.get("/count")).json()).toEqual({ count });
    expect(await (await testClient(app).get("/count")).json()).toEqual({ count: 1 });
  });

  it("The OpenAPI document names the authentication that each route needs", async () => {
    const jwt = new JwtAuth({ secret });
    const app = new App().use(new AnyAuth(jwt, new ApiKeyAuth({ k: "n" })).skipPath("/login", "/openapi.json"));
    app.enableOpenapi();
    app.get("/books", () => []);
    app.post("/login", () => ({}));
    const document = (await (await app.request("/openapi.json")).json()) as {
      components: { securitySchemes: unknown };
      paths: Record<string, Record<string, { security?: unknown }>>;
    };
    expect(document.components.securitySchemes).toEqual({
      bearerAuth: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
      apiKeyAuth: { type: "apiKey", in: "header", name: "X-API-Key" },
    });
    expect(document.paths["/books"]?.["get"]?.security).toEqual([{ bearerAuth: [] }, { apiKeyAuth: [] }]);
    expect(document.paths["/login"]?.["post"]?.security ?? []).toEqual([]);
  });
});
