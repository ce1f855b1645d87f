import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import {
  And,
  App,
  Authenticated,
  ForbiddenError,
  type Guard,
  Not,
  Or,
  Permission,
  Role,
  Scope,
  UnauthorizedError,
} from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it, vi } from "vitest";

async function statusOf(guard: Guard, context: Record<string, unknown> = {}): Promise<number> {
  return (await answerOf(guard, context)).status;
}

async function answerOf(guard: Guard, context: Record<string, unknown> = {}): Promise<Response> {
  const app = new App();
  app.logger = { ...app.logger, error() {} };
  app.use({ before: (request) => void Object.assign(request.context, context) });
  app.get("/", { guards: [guard] }, () => "in");
  return app.request("/");
}

/** Sends the head of a request, and the body when the server asks for it; gives the status and whether it did. */
async function post(guard: Guard, body: string): Promise<[status: number, askedForBody: boolean]> {
  const app = new App();
  app.logger = { ...app.logger, error() {} };
  app.post("/", { guards: [guard] }, () => "in");
  await using server = await serve(app);
  const headers = { "content-length": String(body.length), expect: "100-continue" };
  const sent = request(server.url, { method: "POST", agent: false, headers });
  let asked = false;
  sent.on("error", () => {});
  sent.on("continue", () => {
    asked = true;
    sent.end(body);
  });
  sent.flushHeaders();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  sent.destroy();
  return [response.statusCode!, asked];
}

describe("a guard", () => {
  it("A built-in guard refuses before the body has arrived", async () => {
    expect(await post(Authenticated(), "body")).toEqual([401, false]);
    expect(await post(And(Authenticated(), Role("admin")), "body")).toEqual([401, false]);
  });

  it("A custom guard can read the body, as a function and as an object", async () => {
    const reads: Guard = (request) => request.text() === "pass";
    expect(await post(reads, "pass")).toEqual([200, true]);
    expect(await post({ check: reads }, "pass")).toEqual([200, true]);
    expect(await post({ check: reads }, "fail")).toEqual([403, true]);
    expect(await post(And(Not(Authenticated()), { check: reads }), "pass")).toEqual([200, true]);
  });

  it("A guard that returns true lets the request pass, sync or async", async () => {
    expect(await statusOf(() => true)).toBe(200);
    expect(await statusOf(async () => true)).toBe(200);
    expect(await statusOf({ check: () => true })).toBe(200);
  });

  it("Guards run once, in the given order, whether others are async or not", async () => {
    const order: string[] = [];
    const sync =
      (name: string): Guard =>
      () =>
        !!order.push(name);
    const later =
      (name: string): Guard =>
      async () =>
        !!order.push(name);
    const app = new App();
    app.get("/in", { guards: [later("a"), sync("b"), later("c"), sync("d")] }, () => "in");
    app.get("/out", { guards: [later("a"), sync("b"), () => false, later("c")] }, () => "in");
    expect((await app.request("/in")).status).toBe(200);
    expect(order.splice(0)).toEqual(["a", "b", "c", "d"]);
    expect((await app.request("/out")).status).toBe(403);
    expect(order).toEqual(["a", "b"]);
  });

  it("A guard refuses with false, or with a string that is the message", async () => {
    const refused = await answerOf(() => false);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({
      type: "/errors/forbidden",
      title: "Forbidden",
      error: "Forbidden",
      status: 403,
    });
    expect(await (await answerOf(async () => "not on Sundays")).json()).toMatchObject({ detail: "not on Sundays" });
  });

  it("A guard refuses by throwing the contract's errors", async () => {
    const unauthorized = await answerOf(() => {
      throw new UnauthorizedError("log in");
    });
    expect(unauthorized.status).toBe(401);
    expect(unauthorized.headers.get("www-authenticate")).toBe("Bearer");
    expect(await unauthorized.json()).toMatchObject({ title: "Unauthorized", detail: "log in", status: 401 });
    expect(await statusOf(() => Promise.reject(new ForbiddenError()))).toBe(403);
    expect(new UnauthorizedError("log in", { headers: undefined, title: "No" })).toMatchObject({
      headers: { "WWW-Authenticate": "Bearer" },
      title: "No",
    });
    expect(() => new UnauthorizedError("log in", "Bearer" as never)).toThrow("UnauthorizedError takes an object");
  });

  const silent: [string, Guard][] = [
    ["isAdmin", function isAdmin() {} as never],
    ["isLater", async function isLater() {} as never],
    [
      "Office",
      new (class Office {
        check() {}
      })() as never,
    ],
    ["isAdmin", And(() => true, function isAdmin() {} as never)],
    ["isAdmin", Or(function isAdmin() {} as never, () => true)],
    ["isAdmin", Not(function isAdmin() {} as never)],
  ];

  it.each(silent)(
    "A guard that returns nothing is 500 in debug mode, with the name %s and what to return",
    async (name, guard) => {
      const response = await answerOf(guard);
      expect(response.status).toBe(500);
      expect(((await response.json()) as { error: string }).error).toContain(
        `the guard '${name}' returned nothing: return true to let the request pass`,
      );
    },
  );

  it.each(silent)(
    "A guard that returns nothing is 403 in production, with a log line that names %s",
    async (name, guard) => {
      vi.stubEnv("STOA_ENV", "production");
      try {
        const errors: unknown[] = [];
        const app = new App();
        app.logger = {
          ...app.logger,
          error: (_text: string, fields: { error: unknown }) => errors.push(fields.error),
        } as never;
        app.get("/", { guards: [guard] }, () => "in");
        expect((await app.request("/")).status).toBe(403);
        expect(errors.map(String)).toEqual([expect.stringContaining(`the guard '${name}' returned nothing`)]);
      } finally {
        vi.unstubAllEnvs();
      }
    },
  );

  it("A guard that throws rejects the request", async () => {
    expect(
      await statusOf(() => {
        throw new TypeError("bug");
      }),
    ).toBe(403);
    expect(await statusOf(async () => null as never)).toBe(403);
    expect(await statusOf(() => 0 as never)).toBe(403);
  });

  it("A guard of the application runs on every route, after middleware and before the handler", async () => {
    const app = new App();
    app.add_guard((request) => request.headers.get("x-key") === "k");
    app.get("/a", () => "a");
    expect((await app.request("/a")).status).toBe(403);
    expect((await app.request("/a", { headers: { "x-key": "k" } })).status).toBe(200);
    expect((await app.request("/nope")).status).toBe(404);
  });

  it("An invalid guard is refused", () => {
    expect(() => new App().addGuard({} as never)).toThrow("addGuard takes a function or an object with check(request)");
  });
});

describe("the catalogue", () => {
  const claims = (jwt_claims: Record<string, unknown>) => ({ jwt_claims });

  it("Authenticated() needs an identity of any kind, with and without new", async () => {
    expect(await statusOf(Authenticated())).toBe(401);
    expect(await statusOf(new Authenticated(), { unrelated: 1 })).toBe(401);
    for (const context of [{ jwt_claims: {} }, { user: "ann" }, { api_key_name: "billing" }]) {
      expect(await statusOf(Authenticated(), context)).toBe(200);
    }
  });

  it("Role() needs one of the roles", async () => {
    const guard = Role("admin", "editor");
    expect(await statusOf(guard)).toBe(401);
    expect(await statusOf(guard, claims({ role: "reader" }))).toBe(403);
    expect(await statusOf(guard, claims({ roles: ["editor"] }))).toBe(200);
    expect(await statusOf(guard, claims({ role: "admin" }))).toBe(200);
    expect(await statusOf(Role("constructor"), claims({}))).toBe(403);
  });

  it("Permission() and Scope() need all of their values", async () => {
    expect(await statusOf(Permission("read", "write"), claims({ permissions: ["read"] }))).toBe(403);
    expect(await statusOf(Permission("read", "write"), claims({ permissions: ["write", "read"] }))).toBe(200);
    expect(await statusOf(Scope("books:read"), claims({ scope: "profile books:read" }))).toBe(200);
    expect(await statusOf(Scope("books:write"), claims({ scope: "books:read" }))).toBe(403);
  });

  it("And(), Or() and Not() combine guards, and a guard that throws never admits a request", async () => {
    const yes: Guard = () => true;
    const no: Guard = () => "no";
    const broken: Guard = () => {
      throw new TypeError("bug");
    };
    expect(await statusOf(And(yes, yes))).toBe(200);
    expect(await statusOf(And(yes, no))).toBe(403);
    expect(await statusOf(Or(no, yes))).toBe(200);
    expect(await statusOf(Or(no, Authenticated()))).toBe(401);
    expect(await statusOf(Not(no))).toBe(200);
    expect(await statusOf(Not(yes))).toBe(403);
    expect(await statusOf(Not(broken))).toBe(403);
    expect(await statusOf(Or(broken, yes))).toBe(403);
  });

  it("Guards with empty lists are refused", () => {
    expect(() => Role()).toThrow("Role takes one or more names");
    expect(() => Role("admin", "")).toThrow("Role takes");
    expect(() => Scope("read", 5 as never)).toThrow("Scope takes");
    expect(() => And()).toThrow("And takes one or more guards");
    expect(() => Not(5 as never)).toThrow("Not takes one or more guards");
    expect(() => Or(Authenticated(), 5 as never)).toThrow("Or takes one or more guards");
  });
});
