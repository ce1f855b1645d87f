import { App, type CsrfOptions, MemorySessionStore } from "stoa";
import { serve, type TestClient, type TestRequestInit, testClient } from "stoa/testing";
import { describe, expect, it } from "vitest";
import fc from "../../support/properties.js";

const secret = "a secret of forms with at least 32 bytes";

function csrfApp(options?: CsrfOptions): App {
  const app = new App().enableCsrf(options);
  for (const method of ["get", "post", "put", "patch", "delete"] as const) app[method]("/", () => "done");
  app.post("/hooks/github", () => "done");
  return app;
}

async function statusOf(app: App, headers: Record<string, string>, method = "POST", path = "/"): Promise<number> {
  return (await app.request(path, { method, headers })).status;
}

describe("protection against forged requests", () => {
  it("Requests that a page of another site makes a browser send are refused", async () => {
    const app = csrfApp();
    for (const site of ["cross-site", "same-site", "", "SAME-ORIGIN", "same-origin, cross-site"]) {
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        expect(await statusOf(app, { "sec-fetch-site": site, origin: "http://localhost" }, method), site).toBe(403);
      }
    }
    const foreign = [
      "https://evil.example",
      "null",
      "http://localhost.evil.example",
      "http://localhost:81",
      "http://x@localhost",
    ];
    for (const origin of [...foreign, "file://", "http://localhost/", "", "localhost"]) {
      expect(await statusOf(app, { origin }), origin).toBe(403);
    }
  });

  it("The site's own pages, and clients that are not browsers, pass", async () => {
    const app = csrfApp();
    expect(await statusOf(app, { "sec-fetch-site": "same-origin" })).toBe(200);
    expect(await statusOf(app, { "sec-fetch-site": "none" })).toBe(200);
    expect(await statusOf(app, { origin: "http://localhost" })).toBe(200);
    expect(await statusOf(app, { origin: "https://localhost" })).toBe(200);
    expect(await statusOf(app, {})).toBe(200);
  });

  it("Safe requests pass the CSRF protection", async () => {
    const app = csrfApp();
    const cross = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
    expect(await statusOf(app, cross, "GET")).toBe(200);
    expect(await statusOf(app, cross, "HEAD")).toBe(200);
  });

  it("Configured origins are trusted, exactly", async () => {
    const app = csrfApp({ trustedOrigins: ["https://app.example"] });
    const from = (origin: string) => ({ "sec-fetch-site": "cross-site", origin });
    expect(await statusOf(app, from("https://app.example"))).toBe(200);
    for (const origin of ["https://app.example.evil", "http://app.example", "https://app.example:8443", "null"]) {
      expect(await statusOf(app, from(origin)), origin).toBe(403);
    }
    expect(await statusOf(app, { "sec-fetch-site": "cross-site" })).toBe(403);
  });

  it("Configured paths, and everything below them, skip the CSRF protection", async () => {
    const app = csrfApp({ skip_paths: ["/hooks"] } as CsrfOptions);
    expect(await statusOf(app, { origin: "https://evil.example" }, "POST", "/hooks/github")).toBe(200);
    expect(await statusOf(app, { origin: "https://evil.example" })).toBe(403);
  });

  it("The origin is compared with the host that a trusted proxy reports", async () => {
    const app = csrfApp().trustProxy("loopback");
    await using server = await serve(app);
    const ask = async (origin: string): Promise<number> => {
      const headers = { origin, "x-forwarded-host": "shop.example", "x-forwarded-for": "198.51.100.7" };
      return (await fetch(server.url, { method: "POST", headers })).status;
    };
    expect([await ask("https://shop.example"), await ask(server.url)]).toEqual([200, 403]);
  });

  it("A refusal of the CSRF protection is a problem document", async () => {
    const response = await csrfApp().request("/", { method: "POST", headers: { origin: "https://evil.example" } });
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    expect(await response.json()).toMatchObject({ type: "/errors/origin-not-allowed", status: 403 });
  });

  it("CSRF options that would protect nothing are refused", () => {
    const enable = (options: unknown) => () => new App().enable_csrf(options as never);
    expect(enable({ trustedOrigins: ["*"] })).toThrow("takes origins, not '*'");
    expect(enable({ trustedOrigins: ["app.example"] })).toThrow("is not an origin");
    expect(enable({ skipPaths: ["hooks"] })).toThrow("skipPaths of enableCsrf takes a path that begins with '/'");
    expect(enable({ secret: "" })).toThrow("a secret must not be empty");
    expect(enable({ token: true })).toThrow("did you mean 'tokens'?");
  });
});

type Make = () => App;
const kinds: [string, Make][] = [
  ["a cookie", () => new App().enableCsrf({ tokens: true, secret })],
  ["a session in a cookie", () => new App().enableCsrf({ tokens: true }).enableSessions({ secret })],
  [
    "a session in a store",
    () => new App().enableSessions({ store: new MemorySessionStore() }).enableCsrf({ tokens: true }),
  ],
];

describe.each(kinds)("tokens that belong to %s", (_name, make) => {
  function formApp(): App {
    const app = make();
    app.get("/form", (request) => request.csrfToken());
    app.post("/form", (request) => Object.fromEntries(request.form()));
    app.post("/json", () => "done");
    app.post("/stream", { stream: true }, () => "done");
    app.post("/login", (request) => request.session.regenerate());
    return app;
  }

  const tokenOf = async (client: TestClient): Promise<string> => (await client.get("/form")).text();

  it("Unsafe requests need a CSRF token, in the form or in a header", async () => {
    const client = testClient(formApp());
    const token = await tokenOf(client);
    expect((await client.post("/form", { form: { a: "1", _csrf: token } })).status).toBe(200);
    const multipart = new FormData();
    multipart.set("_csrf", token);
    expect((await client.post("/form", { form: multipart })).status).toBe(200);
    expect((await client.post("/json", { json: {}, headers: { "x-csrf-token": token } })).status).toBe(200);
    expect((await client.post("/stream", { body: "x", headers: { "x-csrf-token": token } })).status).toBe(200);
    const without: TestRequestInit[] = [{ form: { a: "1" } }, { json: { _csrf: token } }, { form: { _csrf: "" } }, {}];
    for (const init of without) {
      expect((await client.post("/form", init)).status).toBe(403);
    }
    expect((await client.post("/stream", { form: { _csrf: token } })).status).toBe(403);
  });

  it("A CSRF token is valid for one client only", async () => {
    const app = formApp();
    const [ada, bob] = [testClient(app), testClient(app)];
    const token = await tokenOf(ada);
    await tokenOf(bob);
    expect((await bob.post("/json", { headers: { "x-csrf-token": token } })).status).toBe(403);
    expect((await testClient(app).post("/json", { headers: { "x-csrf-token": token } })).status).toBe(403);
  });

  it("CSRF tokens are different each time, and all valid", async () => {
    const client = testClient(formApp());
    const tokens = [await tokenOf(client), await tokenOf(client)];
    expect(tokens[0]).not.toBe(tokens[1]);
    for (const token of tokens) {
      expect((await client.post("/json", { headers: { "x-csrf-token": token } })).status).toBe(200);
    }
  });

  it("A changed CSRF token is refused", async () => {
    const client = testClient(formApp());
    const token = await tokenOf(client);
    const letter = fc.constantFrom(..."ABCabc019-_.=");
    await fc.assert(
      fc.asyncProperty(fc.nat(token.length - 1), letter, fc.constantFrom(0, 1), async (at, put, cut) => {
        const changed = token.slice(0, at) + put + token.slice(at + cut);
        fc.pre(changed !== token);
        expect((await client.post("/json", { headers: { "x-csrf-token": changed } })).status).toBe(403);
      }),
      { numRuns: 50 },
    );
  });

  it("A CSRF token does not replace the check of the origin", async () => {
    const client = testClient(formApp());
    const headers = { "x-csrf-token": await tokenOf(client), "sec-fetch-site": "same-site" };
    expect((await client.post("/json", { headers })).status).toBe(403);
  });

  it("A CSRF token comes with a cookie that scripts cannot read, and a response that is not shared", async () => {
    const client = testClient(formApp());
    const response = await client.get("/form");
    expect(response.headers.getSetCookie()[0]).toMatch(/^(?:csrf|session)=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax$/);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("vary")).toBe("Cookie");
    const again = await client.get("/form");
    expect(again.headers.getSetCookie()).toEqual([]);
  });
});

describe("tokens", () => {
  it("The cookie of CSRF tokens has the prefix __Host- in production, and a cookie without the prefix is not taken for it", async () => {
    const app = new App().enableCsrf({ tokens: true, secret });
    app.get("/form", (request) => request.csrfToken());
    app.post("/form", () => "posted");
    await using server = await serve(app, { debug: false });
    const form = await fetch(`${server.url}/form`);
    const line = form.headers.getSetCookie()[0]!;
    expect(line).toMatch(/^__Host-csrf=[\w-]+; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
    const cookie = line.split(";")[0]!;
    const token = await form.text();
    const post = async (cookie: string): Promise<number> =>
      (await fetch(`${server.url}/form`, { method: "POST", headers: { cookie, "x-csrf-token": token } })).status;
    expect([await post(cookie), await post(cookie.replace("__Host-", ""))]).toEqual([200, 403]);
  });

  it("A cookie of CSRF tokens whose configured name has the prefix __Host- is Secure in development too", async () => {
    const app = new App().enableCsrf({ tokens: true, secret, cookie: "__Host-form" });
    app.get("/form", (request) => request.csrfToken());
    const [line] = (await testClient(app).get("/form")).headers.getSetCookie();
    expect(line).toMatch(/^__Host-form=[\w-]+; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
  });

  it("A page with a CSRF token is not cached for other clients, even if its route shares responses", async () => {
    const app = new App().enableCsrf({ tokens: true, secret }).enableCaching();
    app.get("/form", { cache: { credentials: "share" } }, (request) => request.csrfToken());
    const [one, two] = [testClient(app), testClient(app)];
    // The first response sets a cookie and is not cached for that reason.
    for (const client of [one, two]) await client.get("/form");
    expect(await (await one.get("/form")).text()).not.toBe(await (await two.get("/form")).text());
  });

  it.each(["", "short", "a".repeat(44), `${"a".repeat(42)}.`])(
    "The cookie of CSRF tokens is replaced if it has not the form of ours: %j",
    async (value) => {
      const app = new App().enableCsrf({ tokens: true, secret });
      app.get("/form", (request) => request.csrfToken());
      const response = await app.request("/form", { headers: { cookie: `csrf=${value}` } });
      expect(response.headers.getSetCookie()[0]).toMatch(/^csrf=[\w-]{43};/);
    },
  );

  it("A CSRF token from before a login is invalid after it", async () => {
    const app = new App().enableSessions({ secret }).enableCsrf({ tokens: true });
    app.get("/form", (request) => request.csrfToken());
    app.post("/login", (request) => request.session.regenerate());
    const client = testClient(app);
    const token = await (await client.get("/form")).text();
    const post = async (): Promise<number> =>
      (await client.post("/login", { headers: { "x-csrf-token": token } })).status;
    expect([await post(), await post()]).toEqual([204, 403]);
  });

  it("CSRF tokens without a secret or sessions are refused at the start", async () => {
    await expect(new App().enableCsrf({ tokens: true }).start()).rejects.toThrow("needs a secret, or enableSessions");
  });

  it("request.csrfToken() without enabled tokens throws an error that names the remedy", async () => {
    for (const app of [new App(), new App().enableCsrf()]) {
      app.get("/", (request) => request.csrfToken());
      app.logger = { ...app.logger, error() {} };
      expect(await (await app.request("/")).text()).toContain("needs app.enableCsrf({ tokens: true })");
    }
  });

  it("CSRF tokens are signed with the first of several secrets and accepted from all", async () => {
    const appWith = (...secrets: string[]): App => {
      const app = new App().enableCsrf({
        tokens: true,
        secret: secrets,
        field: "token",
        header: "X-Token",
        cookie: "c",
      });
      app.get("/form", (request) => request.csrfToken());
      app.post("/form", () => "done");
      return app;
    };
    const old = testClient(appWith(secret));
    const token = await (await old.get("/form")).text();
    const cookies = { c: old.cookies.get("c")! };
    const next = `new ${secret}`;
    const status = async (app: App): Promise<number> =>
      (await testClient(app).post("/form", { cookies, form: { token } })).status;
    expect([await status(appWith(next, secret)), await status(appWith(next))]).toEqual([200, 403]);
  });
});
