import { createHmac } from "node:crypto";
import { get } from "node:http";
import { App, Authenticated, createLogger, JwtAuth, JwtConfig, type RevocationStore, UnauthorizedError } from "stoa";
import { serve } from "stoa/testing";
import { afterEach, describe, expect, it, vi } from "vitest";
import { MemoryRevocations } from "../../../src/auth/jwt/revocations.js";
import fc, { runs } from "../../support/properties.js";
import { forge, inOneHour, secret } from "../tokens.js";

function jwtApp(jwt: JwtAuth): App {
  const app = new App().use(jwt);
  app.get("/me", { guards: [Authenticated()] }, (request) => request.context.jwt_claims);
  app.get("/login", () => "open");
  return app;
}

function rawStatus(port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get({ port, path, host: "127.0.0.1" }, (answer) => resolve(answer.resume().statusCode)).on("error", reject);
  });
}

async function statusOf(app: App, token: string): Promise<number> {
  return (await app.request("/me", { headers: { authorization: `Bearer ${token}` } })).status;
}

afterEach(() => {
  vi.useRealTimers();
});

describe("JwtAuth", () => {
  it.each(["net", "node"] as const)(
    "A valid token is accepted, and its claims are in the context, over %s",
    async (transport) => {
      const jwt = new JwtAuth(new JwtConfig({ secret, algorithm: "HS256", expiration: 3600 }));
      await using server = await serve(jwtApp(jwt.skipPath("/login")), { transport });
      const headers = { authorization: `Bearer ${jwt.createToken({ sub: "ada", roles: ["admin"] })}` };
      const response = await fetch(`${server.url}/me`, { headers });
      expect([response.status, await response.json()]).toMatchObject([200, { sub: "ada", roles: ["admin"] }]);
      expect((await fetch(`${server.url}/login`)).status).toBe(200);
      // As it stands: fetch would resolve the dots before anything is sent.
      for (const path of [
        "/login/../me",
        "/login/%2e%2e/me",
        "/login/..%2fme",
        "/login%2f..%2fme",
        "/Login",
        "/loginx",
      ]) {
        expect(await rawStatus(server.address.port, path), path).toBe(401);
      }
    },
  );

  it("JwtAuth responds with 401 and the contract's exact body", async () => {
    const app = jwtApp(new JwtAuth({ secret }));
    const missing = await app.request("/me");
    const wrong = await app.request("/me", { headers: { authorization: "Bearer x.y.z" } });
    expect([missing.status, wrong.status]).toEqual([401, 401]);
    expect(missing.headers.get("www-authenticate")).toBe("Bearer");
    expect(wrong.headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
    expect(await missing.json()).toEqual({ error: "Unauthorized", detail: "A bearer token is required.", status: 401 });
    expect(await wrong.json()).toEqual({
      error: "Unauthorized",
      detail: "The token is invalid or has expired.",
      status: 401,
    });
  });

  it("JwtAuth accepts the scheme in any case, and exactly one token behind it", async () => {
    const jwt = new JwtAuth({ secret });
    const app = jwtApp(jwt);
    const token = jwt.createToken();
    const ask = async (authorization: string): Promise<number> =>
      (await app.request("/me", { headers: { authorization } })).status;
    for (const good of [`bearer ${token}`, `BEARER   ${token}`]) expect(await ask(good), good).toBe(200);
    const bad = [
      "Bearer",
      "Bearer ",
      `Bearer${token}`,
      `Token ${token}`,
      token,
      `Bearer ${token} x`,
      `Bearer ${token},`,
    ];
    for (const authorization of [...bad, `Bearer ${token}, Bearer ${token}`, `Bearer "${token}"`]) {
      expect(await ask(authorization), authorization).toBe(401);
    }
  });

  it("An exception handler of the application can respond to a refusal of JwtAuth", async () => {
    const app = jwtApp(new JwtAuth({ secret }));
    app.exceptionHandler(UnauthorizedError, (_request, error) => ({ code: error.statusCode, message: error.message }));
    expect(await (await app.request("/me")).json()).toEqual({ code: 401, message: "A bearer token is required." });
  });

  it("No response and no log shows a token", async () => {
    const jwt = new JwtAuth({ secret });
    const app = jwtApp(jwt);
    let log = "";
    const sink = { write: (line: string) => void (log += line) };
    app.logger = createLogger({ sink, level: "debug", format: "json" });
    app.enableLogging({ sink, format: "json" });
    app.get("/boom", (request) => {
      request.log.info("about to fail", { request, claims: request.context.jwt_claims });
      throw new Error("boom");
    });
    await using server = await serve(app, { debug: true });
    const good = jwt.createToken({ sub: "ada" });
    const bad = forge({ exp: 1, sub: "SECRETCLAIM" });
    for (const [path, token] of [
      ["/boom", good],
      ["/me", bad],
      ["/nowhere", good],
    ] as const) {
      const response = await fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } });
      const text = await response.text();
      for (const part of [...token.split(".").slice(1), "SECRETCLAIM", secret]) expect(text).not.toContain(part);
    }
    for (const part of [...good.split(".").slice(1), ...bad.split(".").slice(1), secret])
      expect(log).not.toContain(part);
    expect(log).toContain("about to fail");
  });

  it("revoke() resolves when the store has the token, and rejects with 503 if the store fails", async () => {
    const kept: string[] = [];
    let fails = false;
    const revocations: RevocationStore = {
      has: (id) => kept.includes(id),
      async add(id) {
        await new Promise((resolve) => setImmediate(resolve));
        if (fails) throw new Error("the store is down");
        return kept.push(id) > 0;
      },
    };
    const jwt = new JwtAuth({ secret, revocations });
    const [first, second] = [jwt.createToken(), jwt.createToken()];
    await jwt.revoke(first);
    await expect(jwt.verify(first)).rejects.toThrow(UnauthorizedError);
    fails = true;
    await expect(jwt.revoke(second)).rejects.toMatchObject({ status: 503 });
  });

  it("A token that is signed but not base64url is refused, since other programs may read it differently", async () => {
    const jwt = new JwtAuth({ secret });
    const [header, payload] = forge({ exp: inOneHour() }).split(".") as [string, string];
    const signed = (input: string): string =>
      `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`;
    await expect(jwt.verify(signed(`${header}.${payload}`))).resolves.toMatchObject({});
    for (const input of [
      `${header}=.${payload}`,
      `${header}.${payload}=`,
      `${header}.${payload}\n`,
      `${header}.${payload}!`,
    ]) {
      await expect(jwt.verify(signed(input))).rejects.toThrow("The token is invalid or has expired.");
    }
  });

  it("A token that was changed anywhere is never accepted", async () => {
    for (const cache of [0, 10]) {
      const jwt = new JwtAuth({ secret, cache });
      const token = jwt.createToken({ sub: "ada", admin: false });
      await jwt.verify(token);
      const character = fc.constantFrom(...new Set([..."ABCDEFGHabcdefgh0189-_.=+/ %\0ÿŁ", ...token]));
      const change = fc.tuple(fc.nat(token.length), fc.constantFrom("replace", "insert", "delete", "cut"), character);
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
          let changed = token;
          for (const [at, kind, put] of changes) {
            const rest = kind === "insert" ? at : kind === "cut" ? changed.length : at + 1;
            changed = changed.slice(0, at) + (kind === "replace" || kind === "insert" ? put : "") + changed.slice(rest);
          }
          fc.pre(changed !== token);
          await expect(jwt.verify(changed)).rejects.toThrow(UnauthorizedError);
        }),
        { numRuns: runs(400) },
      );
    }
  });

  it("Every change of one character of the signature is refused, unused bits included", async () => {
    const jwt = new JwtAuth({ secret });
    const token = jwt.createToken({ sub: "ada" });
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    await jwt.verify(token);
    for (let at = token.lastIndexOf(".") + 1; at < token.length; at++) {
      for (const letter of at === token.length - 1 ? alphabet : "A_") {
        if (letter === token[at]) continue;
        const changed = token.slice(0, at) + letter + token.slice(at + 1);
        await expect(jwt.verify(changed)).rejects.toThrow("The token is invalid");
      }
    }
  });

  it("Random text in place of a token is refused with 401, in any form", async () => {
    const app = jwtApp(new JwtAuth({ secret }));
    const piece = fc.oneof(
      fc.string(),
      fc.json().map((text) => Buffer.from(text).toString("base64url")),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 5 }), async (pieces) => {
        const token = pieces.join(".").replace(/[^\x20-\x7e]/g, "");
        expect(await statusOf(app, token)).toBe(401);
      }),
    );
  });

  it("A token of 15 kB is refused unread, valid or not", async () => {
    const jwt = new JwtAuth({ secret });
    const app = jwtApp(jwt);
    expect(await statusOf(app, "x".repeat(15_000))).toBe(401);
    expect(await statusOf(app, jwt.createToken({ pad: "x".repeat(11_000) }))).toBe(401);
  });

  it("A request cannot change the claims for the next request with the same token", async () => {
    const jwt = new JwtAuth({ secret });
    const app = new App().use(jwt);
    app.get("/", (request) => {
      const claims = request.context.jwt_claims!;
      expect(() => Object.assign(claims, { sub: "root" })).toThrow(TypeError);
      expect(() => (claims["roles"] as string[]).push("admin")).toThrow(TypeError);
      return claims;
    });
    const headers = { authorization: `Bearer ${jwt.createToken({ sub: "ada", roles: ["user"] })}` };
    for (let i = 0; i < 2; i++) {
      expect(await (await app.request("/", { headers })).json()).toMatchObject({ sub: "ada", roles: ["user"] });
    }
  });
});

describe("a token's header", () => {
  const claims = { sub: "ada", exp: inOneHour() };
  const app = jwtApp(new JwtAuth({ secret }));

  it("The header of a token must name exactly the configured algorithm", async () => {
    expect(await statusOf(app, forge(claims))).toBe(200);
    for (const alg of ["none", "None", "NONE", "hs256", "HS256 ", "HS384", "HS512", "RS256", "", null, ["HS256"], {}]) {
      expect(await statusOf(app, forge(claims, { alg })), String(alg)).toBe(401);
    }
    expect(await statusOf(app, forge(claims, {}))).toBe(401);
    expect(await statusOf(app, `${forge(claims, { alg: "none" }).split(".").slice(0, 2).join(".")}.`)).toBe(401);
    expect(await statusOf(app, forge(claims, { alg: "HS512" }, secret, "sha512"))).toBe(401);
    expect(await statusOf(app, forge(claims, { __proto__: { alg: "HS256" } }))).toBe(401);
    expect(await statusOf(app, forge(claims, '{"__proto__":{"alg":"HS256"}}'))).toBe(401);
  });

  it("Keys in the header of a token are ignored: jwk, jku, x5u and a kid that points elsewhere", async () => {
    const jwk = { kty: "oct", k: Buffer.from("mine").toString("base64url") };
    const headers = [
      { alg: "HS256", jwk },
      { alg: "HS256", jku: "https://evil.example/keys.json" },
      { alg: "HS256", x5u: "https://evil.example/cert.pem", x5c: ["MIIB"] },
      { alg: "HS256", kid: "/dev/null" },
      { alg: "HS256", kid: "../../../../etc/passwd" },
    ];
    for (const header of headers) {
      expect(await statusOf(app, forge(claims, header, "mine"))).toBe(401);
      expect(await statusOf(app, forge(claims, header, Buffer.alloc(0)))).toBe(401);
      expect(await statusOf(app, forge(claims, header, Buffer.alloc(1)))).toBe(401);
    }
  });

  it("A token whose header has a critical extension is refused", async () => {
    for (const more of [
      { crit: ["exp"] },
      { crit: ["x"], x: 1 },
      { crit: [] },
      { b64: false, crit: ["b64"] },
      { b64: false },
    ]) {
      expect(await statusOf(app, forge(claims, { alg: "HS256", ...more })), JSON.stringify(more)).toBe(401);
    }
  });

  it("The typ of a token can only be JWT, unless another one is configured", async () => {
    for (const typ of ["JWT", "jwt", "application/jwt"])
      expect(await statusOf(app, forge(claims, { alg: "HS256", typ }))).toBe(200);
    for (const typ of ["at+jwt", "JWE", 1, null, {}])
      expect(await statusOf(app, forge(claims, { alg: "HS256", typ }))).toBe(401);
    const access = jwtApp(new JwtAuth({ secret, type: "at+jwt" }));
    expect(await statusOf(access, forge(claims, { alg: "HS256", typ: "application/at+JWT" }))).toBe(200);
    for (const header of [{ alg: "HS256" }, { alg: "HS256", typ: "JWT" }])
      expect(await statusOf(access, forge(claims, header))).toBe(401);
  });

  it("A token whose header is not an object, or whose kid is not text, is refused", async () => {
    for (const header of ["null", "[]", "1", '"HS256"', "{", "", "\u0000"])
      expect(await statusOf(app, forge(claims, header))).toBe(401);
    expect(await statusOf(app, forge(claims, { alg: "HS256", kid: 7 }))).toBe(401);
  });
});

describe("a token's claims", () => {
  const now = (): number => Math.floor(Date.now() / 1000);
  const accepted = async (payload: unknown, config: object = {}): Promise<boolean> =>
    (await statusOf(jwtApp(new JwtAuth({ secret, ...config })), forge(payload))) === 200;

  it("A token needs an `exp` in the future", async () => {
    expect(await accepted({ exp: now() + 10 })).toBe(true);
    expect(await accepted({ exp: now() + 10.5 })).toBe(true);
    for (const exp of [now() - 1, now() - 3600, 0, -1, String(inOneHour()), null, {}, [inOneHour()], true, undefined]) {
      expect(await accepted({ exp }), JSON.stringify(exp)).toBe(false);
    }
    expect(await accepted('{"exp":1e999}')).toBe(false);
  });

  it("A token is refused if `nbf` or `iat` is in the future or not a number", async () => {
    const exp = inOneHour();
    for (const good of [{ nbf: now() }, { iat: now() }, { iat: now() + 5 }, { nbf: 0, iat: 0 }]) {
      expect(await accepted({ exp, ...good }), JSON.stringify(good)).toBe(true);
    }
    for (const bad of [
      { nbf: now() + 60 },
      { nbf: "0" },
      { nbf: null },
      { iat: now() + 600 },
      { iat: "0" },
      { iat: {} },
    ]) {
      expect(await accepted({ exp, ...bad }), JSON.stringify(bad)).toBe(false);
    }
  });

  it("The times of a token can be off by the leeway", async () => {
    const config = { leeway: 30 };
    expect(await accepted({ exp: now() - 20 }, config)).toBe(true);
    expect(await accepted({ exp: now() - 40 }, config)).toBe(false);
    expect(await accepted({ exp: inOneHour(), nbf: now() + 20 }, config)).toBe(true);
    expect(await accepted({ exp: inOneHour(), nbf: now() + 40 }, config)).toBe(false);
  });

  it("A token must name an accepted issuer and audience if they are configured", async () => {
    const exp = inOneHour();
    const config = { issuer: ["https://a.example", "https://b.example"], audience: "api" };
    const good = { exp, iss: "https://b.example", aud: ["web", "api"] };
    expect(await accepted(good, config)).toBe(true);
    expect(await accepted({ ...good, aud: "api" }, config)).toBe(true);
    for (const bad of [
      { iss: "https://c.example" },
      { iss: undefined },
      { iss: ["https://a.example"] },
      { aud: "apis" },
    ]) {
      expect(await accepted({ ...good, ...bad }, config), JSON.stringify(bad)).toBe(false);
    }
    for (const aud of [undefined, null, [], {}, ["web"], [["api"]]])
      expect(await accepted({ ...good, aud }, config)).toBe(false);
  });

  it("The claims of a token must be an object in UTF-8 without keys that pollute prototypes", async () => {
    const exp = inOneHour();
    expect(await accepted({ exp, name: "Ünï €" })).toBe(true);
    for (const payload of [
      "null",
      "[]",
      "1",
      `"x"`,
      "",
      "{",
      `{"exp":${exp}}x`,
      `{"exp":${exp},"__proto__":{"a":1}}`,
    ]) {
      expect(await accepted(payload), payload).toBe(false);
    }
  });

  it("The times of a token are checked each time, also of a remembered token", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const jwt = new JwtAuth({ secret, expiration: 100 });
    const token = jwt.createToken();
    const early = jwt.createToken({ nbf: now() + 50 });
    await expect(jwt.verify(token)).resolves.toMatchObject({ exp: now() + 100 });
    await expect(jwt.verify(early)).rejects.toThrow();
    vi.setSystemTime(Date.now() + 60_000);
    await expect(jwt.verify(token)).resolves.toBeDefined();
    await expect(jwt.verify(early)).resolves.toBeDefined();
    vi.setSystemTime(Date.now() + 41_000);
    await expect(jwt.verify(token)).rejects.toThrow("The token is invalid or has expired.");
  });

  it("Times beyond 2038 and in the year 9999 are handled correctly", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    for (const date of ["2038-01-19T03:14:08Z", "9999-12-31T23:00:00Z"]) {
      vi.setSystemTime(new Date(date));
      const jwt = new JwtAuth({ secret, expiration: 60 });
      const token = jwt.createToken();
      await expect(jwt.verify(token)).resolves.toMatchObject({ iat: Date.parse(date) / 1000 });
      vi.setSystemTime(Date.parse(date) + 61_000);
      await expect(jwt.verify(token)).rejects.toThrow();
    }
  });
});

describe("createToken", () => {
  it("createToken() adds iat, exp and jti, and issuer and audience if they are configured", async () => {
    const jwt = new JwtAuth({ secret, expiration: 60, issuer: "me", audience: ["a", "b"] });
    const before = Math.floor(Date.now() / 1000);
    const claims = await jwt.verify(jwt.create_token({ sub: "ada" }));
    expect(claims).toMatchObject({
      sub: "ada",
      iss: "me",
      aud: ["a", "b"],
      jti: expect.stringMatching(/^[\da-f-]{36}$/),
    });
    expect(claims.iat).toBeGreaterThanOrEqual(before);
    expect(claims.exp! - claims.iat!).toBe(60);
    expect(jwt.createToken()).not.toBe(jwt.createToken());
  });

  it("createToken() makes a token for an hour by default, and keeps the given claims", async () => {
    const jwt = new JwtAuth({ secret });
    const claims = await jwt.verify(jwt.createToken());
    expect(claims.exp! - claims.iat!).toBe(3600);
    const own = { jti: "mine", exp: inOneHour() + 7, iat: 1000 };
    await expect(jwt.verify(jwt.createToken(own))).resolves.toMatchObject(own);
  });

  it("createToken() refuses claims that no token can have", () => {
    const jwt = new JwtAuth({ secret });
    expect(() => jwt.createToken("ada" as never)).toThrow("createToken() takes an object of claims");
    expect(() => jwt.createToken({ exp: "soon" as never })).toThrow("the claim 'exp' must be a number");
    expect(() => jwt.createToken({ nbf: Number.NaN })).toThrow("the claim 'nbf' must be a number");
  });
});

describe("revoke and refresh", () => {
  it("A revoked token is refused before its expiry", async () => {
    const jwt = new JwtAuth({ secret });
    const app = jwtApp(jwt);
    app.post("/logout", async (request) => {
      await jwt.revoke(request);
    });
    const token = jwt.createToken({ sub: "ada" });
    const other = jwt.createToken({ sub: "ada" });
    expect(await statusOf(app, token)).toBe(200);
    const logout = await app.request("/logout", { method: "POST", headers: { authorization: `Bearer ${token}` } });
    expect(logout.status).toBe(204);
    expect(await statusOf(app, token)).toBe(401);
    expect(await statusOf(app, other)).toBe(200);
  });

  it("revokeAll() revokes the tokens of a subject up to now with their descendants, and no others", async () => {
    const jwt = new JwtAuth({ secret });
    const app = jwtApp(jwt);
    const old = jwt.createToken({ sub: "ada" });
    const refreshed = await jwt.refresh(jwt.createToken({ sub: "ada" }));
    const [other, nobody] = [jwt.createToken({ sub: "bob" }), jwt.createToken()];
    const { iat } = await jwt.verify(old);
    // Other issuers give fractions of a second.
    const exact = forge({ sub: "ada", iat: Math.floor(Date.now() / 1000) + 0.999, exp: inOneHour() });
    // A token without a time of issue can be older than it looks.
    const undated = forge({ sub: "ada", exp: inOneHour() + 30 * 86_400 });
    expect(await statusOf(app, undated)).toBe(200);
    await jwt.revokeAll("ada");
    expect([await statusOf(app, old), await statusOf(app, refreshed)]).toEqual([401, 401]);
    expect([await statusOf(app, exact), await statusOf(app, undated)]).toEqual([401, 401]);
    expect([await statusOf(app, other), await statusOf(app, nobody)]).toEqual([200, 200]);
    await expect(jwt.refresh(old)).rejects.toMatchObject({ status: 401 });
    const next = jwt.createToken({ sub: "ada" });
    expect(await statusOf(app, next)).toBe(200);
    // A refresh makes no token younger: one that a slow refresh made after the call is refused too.
    expect(await statusOf(app, forge({ sub: "ada", orig_iat: iat!, iat: iat! + 1, exp: inOneHour() }))).toBe(401);
    await jwt.revoke_all("ada");
    expect(await statusOf(app, next)).toBe(401);
    for (const wrong of ["", undefined, 5]) {
      await expect(jwt.revokeAll(wrong as string)).rejects.toThrow("revokeAll() takes the subject of the tokens");
    }
  });

  it("A token without jti can be revoked, and an expired one needs no revocation", async () => {
    const store = new Map<string, number>();
    const revocations: RevocationStore = { has: (id) => store.has(id), add: (id, until) => !!store.set(id, until) };
    const jwt = new JwtAuth({ secret, revocations });
    const token = forge({ sub: "ada", exp: inOneHour() });
    await jwt.verify(token);
    await jwt.revoke(token);
    await expect(jwt.verify(token)).rejects.toThrow(UnauthorizedError);
    await jwt.revoke(forge({ sub: "ada", exp: 1000 }));
    expect(store.size).toBe(1);
  });

  it("revoke() and refresh() refuse texts that are not valid tokens", async () => {
    const jwt = new JwtAuth({ secret });
    for (const token of ["", "x", forge({ exp: inOneHour() }, undefined, "another secret")]) {
      await expect(jwt.revoke(token)).rejects.toThrow(UnauthorizedError);
      await expect(jwt.refresh(token)).rejects.toThrow(UnauthorizedError);
    }
  });

  it("refresh() replaces a token by a new one with the same claims, once", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const jwt = new JwtAuth({ secret, refreshGrace: 0 });
    const first = jwt.createToken({ sub: "ada", role: "admin" });
    const { jti, iat } = await jwt.verify(first);
    vi.setSystemTime(Date.now() + 1000_000);
    const second = await jwt.refresh(first);
    const claims = await jwt.verify(second);
    expect(claims).toMatchObject({ sub: "ada", role: "admin", orig_iat: iat, iat: iat! + 1000, exp: iat! + 4600 });
    expect(claims.jti).not.toBe(jti);
    await expect(jwt.verify(first)).rejects.toThrow(UnauthorizedError);
    await expect(jwt.refresh(first)).rejects.toThrow(UnauthorizedError);
  });

  it("Of two refreshes of a token at the same moment one gets a token, and without a grace its family ends", async () => {
    const jwt = new JwtAuth({ secret, refreshGrace: 0 });
    const first = jwt.createToken({ sub: "ada" });
    const twice = await Promise.allSettled([jwt.refresh(first), jwt.refresh(first)]);
    const won = twice.filter((settled) => settled.status === "fulfilled");
    expect(won).toHaveLength(1);
    await expect(jwt.verify(won[0]!.value)).rejects.toThrow(UnauthorizedError);
  });

  it("Both of two refreshes of a token within the grace get a token, and the old one is good for nothing else", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const jwt = new JwtAuth({ secret, refreshGrace: 8 });
    const first = jwt.createToken({ sub: "ada" });
    const both = await Promise.all([jwt.refresh(first), jwt.refresh(first)]);
    vi.setSystemTime(Date.now() + 8_000);
    both.push(await jwt.refresh(first));
    for (const token of both) await jwt.verify(token);
    expect(new Set(both).size).toBe(3);
    await expect(jwt.verify(first)).rejects.toThrow(UnauthorizedError);
    vi.setSystemTime(Date.now() + 2_000);
    await expect(jwt.refresh(first)).rejects.toThrow(UnauthorizedError);
    for (const token of both) await expect(jwt.verify(token)).rejects.toThrow(UnauthorizedError);
  });

  it("Within the grace a token of a family that has ended cannot be refreshed", async () => {
    const jwt = new JwtAuth({ secret });
    const first = jwt.createToken({ sub: "ada" });
    const second = await jwt.refresh(first);
    await jwt.revoke(first);
    await expect(jwt.verify(second)).rejects.toThrow(UnauthorizedError);
    await expect(jwt.refresh(first)).rejects.toThrow(UnauthorizedError);
    await expect(jwt.refresh(second)).rejects.toThrow(UnauthorizedError);
  });

  it.each([
    ["before it has stored the token", false],
    ["after it has stored the token", true],
  ])("A refresh whose store fails %s can be repeated and uses up no quota", async (_, isStored) => {
    const stored = new MemoryRevocations();
    let fails = (_id: string): boolean => false;
    const revocations: RevocationStore = {
      has: (id) => stored.has(id),
      add: async (id, until) => {
        if (!fails(id)) return stored.add(id, until);
        if (isStored) stored.add(id, until);
        throw new Error("the connection was lost");
      },
    };
    const jwt = new JwtAuth({ secret, revocations, maxRefreshes: 1 });
    const token = jwt.createToken({ sub: "ada" });
    for (fails of [() => true, (id: string) => !id.startsWith("refreshed:")]) {
      await expect(jwt.refresh(token)).rejects.toMatchObject({ status: 503 });
    }
    fails = () => false;
    await jwt.verify(await jwt.refresh(token));
  });

  it("A token that is refreshed a second time ends all its descendants, and no other token", async () => {
    const jwt = new JwtAuth({ secret, refreshGrace: 0 });
    const first = jwt.createToken({ sub: "ada" });
    const other = await jwt.refresh(jwt.createToken({ sub: "ada" }));
    const second = await jwt.refresh(first);
    const third = await jwt.refresh(second);
    await jwt.verify(third);
    await expect(jwt.refresh(first)).rejects.toThrow(UnauthorizedError);
    await expect(jwt.verify(third)).rejects.toThrow(UnauthorizedError);
    await expect(jwt.refresh(third)).rejects.toThrow(UnauthorizedError);
    await jwt.verify(other);
  });

  it("Refreshes are limited for each subject, so that one client cannot fill the store for all", async () => {
    const revocations = new MemoryRevocations(10);
    const jwt = new JwtAuth({ secret, revocations, maxRefreshes: 5, refreshGrace: 0 });
    const app = jwtApp(jwt);
    app.post("/refresh", async (request) => ({ token: await jwt.refresh(request) }));
    const refresh = (token: string) =>
      app.request("/refresh", { method: "POST", headers: { Authorization: `Bearer ${token}` } });
    let token = jwt.createToken({ sub: "mallory" });
    for (let i = 0; i < 5; i++) token = ((await (await refresh(token)).json()) as { token: string }).token;
    const refused = await refresh(token);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThan(3000);
    expect(await refused.json()).toMatchObject({ retry_after: Number(refused.headers.get("Retry-After")) });
    expect(revocations.size).toBe(5);
    await jwt.verify(token);
    await jwt.revoke(jwt.createToken({ sub: "ada" }));
    await jwt.refresh(jwt.createToken({ sub: "ada" }));
    // A subject that has used up its refreshes can still log out.
    await jwt.revoke(token);
    await expect(jwt.verify(token)).rejects.toThrow(UnauthorizedError);
  });

  it("A subject can refresh tokens again when the time of the limit is over", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const jwt = new JwtAuth({ secret, maxRefreshes: 1, expiration: 600 });
    const token = await jwt.refresh(jwt.createToken({ sub: "ada" }));
    await expect(jwt.refresh(token)).rejects.toMatchObject({ status: 429 });
    vi.setSystemTime(Date.now() + 599_000);
    const kept = jwt.createToken({ sub: "ada" });
    await expect(jwt.refresh(kept)).rejects.toMatchObject({ status: 429, headers: { "Retry-After": "1" } });
    vi.setSystemTime(Date.now() + 1_000);
    await jwt.refresh(kept);
  });

  it("refresh() refuses a token that is too young, and leaves it valid", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_800_000_000_000 });
    const jwt = new JwtAuth({ secret, refreshAge: 60 });
    const token = jwt.createToken({ sub: "ada" });
    vi.setSystemTime(Date.now() + 59_000);
    await expect(jwt.refresh(token)).rejects.toMatchObject({ status: 429, headers: { "Retry-After": "1" } });
    await jwt.verify(token);
    vi.setSystemTime(Date.now() + 1_000);
    await jwt.refresh(token);
  });

  it("refresh() is refused after the limit, however often a token was refreshed", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const jwt = new JwtAuth({ secret, expiration: 600, refreshLimit: 1000 });
    let token = jwt.createToken();
    vi.setSystemTime(Date.now() + 500_000);
    token = await jwt.refresh(token);
    vi.setSystemTime(Date.now() + 499_000);
    token = await jwt.refresh(token);
    vi.setSystemTime(Date.now() + 2000);
    await jwt.verify(token);
    await expect(jwt.refresh(token)).rejects.toThrow(UnauthorizedError);
    await expect(jwt.refresh(jwt.createToken({ orig_iat: "never" }))).rejects.toThrow(UnauthorizedError);
  });

  it("Revocation works with an asynchronous store, and refuses tokens if the store fails", async () => {
    const revoked = new Set<string>();
    let broken = false;
    const store: RevocationStore = {
      has: async (id) => {
        if (broken) throw new Error("the store is down");
        return revoked.has(id);
      },
      add: async (id) => !revoked.has(id) && !!revoked.add(id),
    };
    const jwt = new JwtAuth({ secret });
    jwt.revocations = store;
    const app = jwtApp(jwt);
    app.logger = { ...app.logger, warn() {} };
    const token = jwt.createToken();
    const other = jwt.createToken();
    expect(await statusOf(app, token)).toBe(200);
    await jwt.revoke(token);
    expect(await statusOf(app, token)).toBe(401);
    broken = true;
    expect(await statusOf(app, other)).toBe(503);
  });

  it("Only `false` from the store means that a token is not revoked", async () => {
    const jwt = new JwtAuth({ secret, revocations: { has: () => undefined as never, add: () => true } });
    await expect(jwt.verify(jwt.createToken())).rejects.toThrow(UnauthorizedError);
  });
});
