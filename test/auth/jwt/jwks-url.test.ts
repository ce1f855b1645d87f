import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { App, JwtAuth, type JwtClaims, type JwtOptions } from "stoa";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

interface Key {
  readonly kid: string;
  readonly jwk: Record<string, unknown>;
  token(claims?: JwtClaims): string;
}

function makeKey(kid: string): Key {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = { ...publicKey.export({ format: "jwk" }), kid, alg: "ES256", use: "sig" };
  const signer = new JwtAuth({ algorithm: "ES256", privateKey: privateKey as KeyObject, keyId: kid });
  return { kid, jwk, token: (claims = { sub: "ada" }) => signer.createToken(claims) };
}

const [first, second] = [makeKey("first"), makeKey("second")];

/** A server that publishes keys; `respond` can be replaced. */
async function issuer(...keys: Key[]) {
  const state = {
    requests: 0,
    url: "",
    respond: json({ keys: keys.map(({ jwk }) => jwk) }),
  };
  const server = createServer((request, response) => {
    state.requests++;
    state.respond(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks.json`;
  return state;
}

function json(value: unknown, headers: Record<string, string> = {}): RequestListener {
  return (_request, response) => response.writeHead(200, headers).end(JSON.stringify(value));
}

function appFor(jwks: string, options: Partial<JwtOptions> = {}) {
  const app = new App();
  app.use(new JwtAuth({ algorithm: "ES256", jwks, ...options }));
  app.get("/", (request) => request.context.jwt_claims?.["sub"] ?? null);
  app.logger = { ...app.logger, warn() {}, error() {} };
  return async (token: string): Promise<number> =>
    (await app.request("/", { headers: { Authorization: `Bearer ${token}` } })).status;
}

/** Lets time pass for the ages of keys, and for nothing else. */
function fakeClock(): (seconds: number) => void {
  vi.useFakeTimers({ toFake: ["performance"] });
  return (seconds) => void vi.advanceTimersByTime(seconds * 1000);
}

describe("keys at an address", () => {
  it("A set with a key without kid, and with two keys of one kid, verifies tokens of all its keys", async () => {
    const replaced = makeKey("first");
    const source = await issuer(first, replaced, second);
    const { kid: _kid, ...nameless } = makeKey("x").jwk;
    source.respond = json({ keys: [first.jwk, replaced.jwk, nameless, second.jwk] });
    const status = appFor(source.url);
    const tokens = [first.token(), replaced.token(), second.token()];
    expect(await Promise.all(tokens.map(status))).toEqual([200, 200, 200]);
    expect(await status(makeKey("first").token())).toBe(401);
  });

  it("A token without kid is verified with all keys of an address, except those that cannot be used", async () => {
    const source = await issuer();
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const jwk = publicKey.export({ format: "jwk" });
    const token = new JwtAuth({ algorithm: "ES256", privateKey }).createToken({ sub: "ada" });
    const statusWith = (...keys: unknown[]): Promise<number> => {
      source.respond = json({ keys });
      return appFor(source.url)(token);
    };
    const named = { ...jwk, kid: "a" };
    expect(await statusWith(named, named)).toBe(200);
    expect(await statusWith(first.jwk, named)).toBe(200);
    expect(await statusWith({ kty: "EC", crv: "P-999", x: "a", y: "b", kid: "u" }, { ...jwk, x: "!!" }, named)).toBe(
      200,
    );
    expect(await statusWith({ ...jwk, kid: 5 }, second.jwk)).toBe(200);
    expect(await statusWith(first.jwk, second.jwk)).toBe(401);
    // Each key costs a verification.
    expect(await statusWith(...Array.from({ length: 9 }, (_, i) => ({ ...jwk, kid: `${i}` })))).toBe(401);
  });

  it("Keys at an address verify tokens, and are loaded once for many requests at a time", async () => {
    const source = await issuer(first, second);
    const status = appFor(source.url);
    const tokens = Array.from({ length: 20 }, (_, i) => (i % 2 ? first : second).token({ sub: `user ${i}` }));
    expect(await Promise.all(tokens.map(status))).toEqual(Array(20).fill(200));
    expect(await status(first.token())).toBe(200);
    expect(source.requests).toBe(1);
  });

  it("Keys at an address are not loaded for each unknown kid", async () => {
    const passes = fakeClock();
    const source = await issuer(first);
    const status = appFor(source.url);
    expect(await status(first.token())).toBe(200);
    const unknown = Array.from({ length: 50 }, (_, i) => makeKey(`unknown ${i}`).token());
    for (const token of unknown) expect(await status(token)).toBe(401);
    expect(source.requests).toBe(1);
    passes(31);
    expect(await Promise.all(unknown.map(status))).toEqual(Array(50).fill(401));
    expect(source.requests).toBe(2);
  });

  it("Keys at an address are not loaded for tokens that no key could verify", async () => {
    const source = await issuer(first);
    const status = appFor(source.url);
    await status(first.token());
    const before = source.requests;
    for (const token of ["", "a.b.c", "x".repeat(9000), first.token().replace(/^[^.]+/, "e30")]) {
      expect(await status(token)).toBe(401);
    }
    expect(source.requests).toBe(before);
  });

  it("A new key at an address is found by its kid, and tokens of a removed key are refused, cached or not", async () => {
    const passes = fakeClock();
    const source = await issuer(first);
    const status = appFor(source.url);
    const cached = first.token();
    expect(await status(cached)).toBe(200);
    source.respond = json({ keys: [second.jwk] });
    passes(31);
    expect(await status(second.token())).toBe(200);
    expect(await status(cached)).toBe(401);
    expect(await status(first.token())).toBe(401);
  });

  it("Keys at an address are loaded again after the issuer's max-age, but not within a minute, and no request waits", async () => {
    const passes = fakeClock();
    const source = await issuer();
    source.respond = json({ keys: [first.jwk] }, { "Cache-Control": "public, max-age=1" });
    const status = appFor(source.url);
    const token = first.token();
    await status(token);
    passes(59);
    expect(await status(first.token())).toBe(200);
    expect(source.requests).toBe(1);
    passes(2);
    expect(await status(first.token())).toBe(200);
    await vi.waitFor(() => expect(source.requests).toBe(2));
  });

  it("Keys at an address stay in use for a day while the issuer is away, and then requests get 503", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockReturnValue();
    const passes = fakeClock();
    const source = await issuer(first);
    const status = appFor(source.url);
    const cached = first.token();
    expect(await status(cached)).toBe(200);
    source.respond = (_request, response) => void response.destroy();
    passes(23 * 3600);
    expect(await status(first.token())).toBe(200);
    expect(await status(cached)).toBe(200);
    await vi.waitFor(() => expect(warned).toHaveBeenCalledTimes(1));
    passes(3601);
    expect(await status(cached)).toBe(503);
    expect(await status(first.token())).toBe(503);
    source.respond = json({ keys: [first.jwk] });
    passes(31);
    expect(await status(cached)).toBe(200);
    expect(warned).toHaveBeenCalledTimes(1);
  });

  const never: RequestListener = (_request, response) => drip(response);
  const endless: RequestListener = (_request, response) => {
    response.writeHead(200);
    const more = (): void => {
      while (response.write('{"keys":['.repeat(1000)));
    };
    response.on("drain", more);
    more();
  };
  it.each<[string, RequestListener]>([
    ["is larger than allowed", endless],
    ["never ends", never],
    ["is an error", (_request, response) => response.writeHead(500).end("{}")],
    ["is not JSON", (_request, response) => response.end("<html>")],
    ["is no key set", json([])],
    ["has too many keys", json({ keys: Array.from({ length: 101 }, (_, i) => ({ ...first.jwk, kid: `k${i}` })) })],
    ["has no key for the algorithm", json({ keys: [{ kty: "oct", k: "c2VjcmV0", kid: "first" }] })],
    ["has broken keys only", json({ keys: [{ ...first.jwk, x: "AAAA" }] })],
    [
      "is compressed without end",
      (_request, response) => void response.writeHead(200, { "Content-Encoding": "br" }).end("no"),
    ],
  ])(
    "Keys are not taken from a response that %s, and requests get 503",
    async (_name, respond) => {
      const warned = vi.spyOn(process, "emitWarning").mockReturnValue();
      const source = await issuer();
      source.respond = respond;
      const status = appFor(source.url);
      expect(await status(first.token())).toBe(503);
      // At once: the next attempt comes later.
      expect(await status(first.token())).toBe(503);
      expect(source.requests).toBe(1);
      expect(String(warned.mock.calls[0])).toMatch(/^the keys of JwtAuth could not be loaded: /);
    },
    30_000,
  );

  it("Keys are not taken from another address to which the issuer redirects", async () => {
    vi.spyOn(process, "emitWarning").mockReturnValue();
    const other = await issuer(first);
    const source = await issuer();
    source.respond = (_request, response) => response.writeHead(302, { Location: other.url }).end();
    expect(await appFor(source.url)(first.token())).toBe(503);
    expect(other.requests).toBe(0);
  });

  it("Broken keys of a key set are ignored, and the others are used", async () => {
    const source = await issuer();
    source.respond = json({ keys: [{ ...second.jwk, x: "AAAA" }, first.jwk, { kty: "RSA", kid: "r" }] });
    const status = appFor(source.url);
    expect(await status(first.token())).toBe(200);
    expect(await status(second.token())).toBe(401);
  });

  it.each([
    [{ jwks: "http://issuer.example/jwks.json" }, /must be an https address, or http on this machine/],
    [{ jwks: "https://user:password@issuer.example/" }, /must not hold a password/],
    [{ jwks: "https://" }, /is not a valid address/],
    [{ jwks: "https://issuer.example/", keyId: "1" }, /option 'keyId' in JwtConfig cannot be used/],
    [{ jwks: "https://issuer.example/", algorithm: "HS256" }, /HS256 takes no address/],
  ] as const)("JwtAuth refuses the options %j", (options, message) => {
    expect(() => new JwtAuth({ algorithm: "ES256", ...options })).toThrow(message);
  });
});

describe("keys in a file", () => {
  it("Keys in a file can be replaced without a restart, and stay in use while the file is broken", async () => {
    const passes = fakeClock();
    const folder = await mkdtemp(join(tmpdir(), "stoa-jwks-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "jwks.json");
    writeFileSync(file, JSON.stringify({ keys: [first.jwk] }));
    const status = appFor(file);
    expect(await status(first.token())).toBe(200);
    writeFileSync(file, JSON.stringify({ keys: [second.jwk] }));
    passes(6);
    expect(await status(second.token())).toBe(200);
    expect(await status(first.token())).toBe(401);
    vi.spyOn(process, "emitWarning").mockReturnValue();
    writeFileSync(file, "half of");
    passes(100);
    expect(await status(second.token())).toBe(200);
  });
});

/** Sends a byte at a time, forever. */
function drip(response: ServerResponse): void {
  response.writeHead(200);
  const timer = setInterval(() => response.write(" "), 50);
  response.on("close", () => clearInterval(timer));
}
