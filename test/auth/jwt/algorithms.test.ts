import { createPrivateKey, createSign, generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type JwtAlgorithm, JwtAuth, JwtConfig, UnauthorizedError } from "stoa";
import { describe, expect, it } from "vitest";
import { forge, inOneHour, secret } from "../tokens.js";

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const pairs: Record<string, { publicKey: KeyObject; privateKey: KeyObject }> = {
  RS256: rsa,
  RS384: rsa,
  RS512: rsa,
  PS256: rsa,
  PS384: rsa,
  PS512: rsa,
  ES256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  ES384: generateKeyPairSync("ec", { namedCurve: "P-384" }),
  ES512: generateKeyPairSync("ec", { namedCurve: "P-521" }),
  EdDSA: generateKeyPairSync("ed25519"),
};
const asymmetric = Object.keys(pairs) as JwtAlgorithm[];
const jwkOf = (key: KeyObject, more: object = {}) => ({ ...key.export({ format: "jwk" }), ...more });

describe("a JwtAuth with a pair of keys", () => {
  it.each(asymmetric)("JwtAuth with a pair of keys creates and verifies tokens by %s", async (algorithm) => {
    const { publicKey, privateKey } = pairs[algorithm]!;
    const issuer = new JwtAuth({ algorithm, privateKey });
    const verifier = new JwtAuth({ algorithm, publicKey });
    const token = issuer.createToken({ sub: "ada" });
    await expect(issuer.verify(token)).resolves.toMatchObject({ sub: "ada" });
    await expect(verifier.verify(token)).resolves.toMatchObject({ sub: "ada" });
    const signature = token.slice(token.lastIndexOf(".") + 1);
    const bytes = Buffer.from(signature, "base64url");
    bytes[3]! ^= 1;
    const changes = [
      bytes.toString("base64url"),
      "",
      "AAAA",
      signature.slice(0, -4),
      `${signature}AAAA`,
      `${signature}=`,
    ];
    const zeros = Buffer.alloc(bytes.length).toString("base64url");
    for (const changed of [...changes, zeros, `${signature.slice(0, -1)}*`]) {
      const forged = token.slice(0, token.lastIndexOf(".") + 1) + changed;
      await expect(new JwtAuth({ algorithm, publicKey }).verify(forged)).rejects.toThrow(UnauthorizedError);
    }
  });

  it.each(asymmetric)("JwtAuth with %s accepts no other algorithm", async (algorithm) => {
    const verifier = new JwtAuth({ algorithm, publicKey: pairs[algorithm]!.publicKey });
    for (const other of asymmetric) {
      const token = new JwtAuth({ algorithm: other, privateKey: pairs[other]!.privateKey }).createToken();
      if (other === algorithm) await expect(verifier.verify(token)).resolves.toBeDefined();
      else await expect(verifier.verify(token)).rejects.toThrow(UnauthorizedError);
    }
  });

  it("JwtAuth verifies the examples of RFC 7515 A.3 and RFC 8037 A.4", async () => {
    // Signatures made elsewhere; the payloads have no `exp`, or one of 2011, so that the key alone is asked.
    const es256 = {
      kty: "EC",
      crv: "P-256",
      x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
      y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    };
    const config = new JwtConfig({ algorithm: "ES256", publicKey: es256 });
    const input =
      "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const signature = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    expect(config.keys.find(undefined)!.verifies(input, signature)).toBe(true);
    const ed25519 = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
    const edConfig = new JwtConfig({ algorithm: "EdDSA", publicKey: ed25519 });
    expect(
      edConfig.keys
        .find(undefined)!
        .verifies(
          "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
          "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
        ),
    ).toBe(true);
  });

  it("JwtAuth does not use its public key as a secret", async () => {
    const pem = rsa.publicKey.export({ type: "spki", format: "pem" }) as string;
    const verifier = new JwtAuth({ algorithm: "RS256", publicKey: pem });
    await expect(verifier.verify(forge({ exp: inOneHour() }, { alg: "HS256" }, pem))).rejects.toThrow(
      UnauthorizedError,
    );
    await expect(verifier.verify(forge({ exp: inOneHour() }, { alg: "RS256" }, pem))).rejects.toThrow(
      UnauthorizedError,
    );
    expect(() => new JwtConfig({ secret: pem })).toThrow("option 'secret' in JwtConfig is a key in PEM; see publicKey");
  });

  it("JwtAuth refuses an ECDSA signature in ASN.1", async () => {
    const { publicKey, privateKey } = pairs["ES256"]!;
    const [header, payload] = new JwtAuth({ algorithm: "ES256", privateKey }).createToken().split(".");
    const der = createSign("sha256").update(`${header}.${payload}`).sign(privateKey).toString("base64url");
    const verifier = new JwtAuth({ algorithm: "ES256", publicKey });
    await expect(verifier.verify(`${header}.${payload}.${der}`)).rejects.toThrow(UnauthorizedError);
  });

  it("JwtAuth reads keys as PEM, bytes, JWK and KeyObject", async () => {
    const { publicKey, privateKey } = pairs["ES256"]!;
    const pem = publicKey.export({ type: "spki", format: "pem" });
    const token = new JwtAuth({
      algorithm: "ES256",
      private_key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    }).createToken();
    for (const key of [
      pem as string,
      Buffer.from(pem),
      jwkOf(publicKey),
      publicKey,
      createPrivateKey(privateKey.export({ type: "pkcs8", format: "pem" })),
    ]) {
      await expect(new JwtAuth({ algorithm: "ES256", publicKey: key }).verify(token)).resolves.toBeDefined();
    }
  });

  it("JwtAuth creates no tokens without the private key", () => {
    const verifier = new JwtAuth({ algorithm: "ES256", publicKey: pairs["ES256"]!.publicKey });
    expect(() => verifier.createToken()).toThrow("createToken() needs a secret or a private key in JwtConfig");
  });

  it("JwtAuth refuses keys that do not fit the algorithm", () => {
    const small = generateKeyPairSync("rsa", { modulusLength: 1024 });
    const make = (algorithm: JwtAlgorithm, publicKey: KeyObject) => () => new JwtConfig({ algorithm, publicKey });
    expect(make("ES256", rsa.publicKey)).toThrow("is a key (rsa) that ES256 cannot use");
    expect(make("ES256", pairs["ES384"]!.publicKey)).toThrow("is a key (ec, secp384r1) that ES256 cannot use");
    expect(make("EdDSA", pairs["ES256"]!.publicKey)).toThrow("that EdDSA cannot use");
    expect(make("RS256", pairs["EdDSA"]!.publicKey)).toThrow("is a key (ed25519) that RS256 cannot use");
    expect(make("RS256", small.publicKey)).toThrow("an RSA key of less than 2048 bits");
    expect(() => new JwtConfig({ algorithm: "RS256", publicKey: "-----BEGIN nonsense" })).toThrow(
      /^option 'publicKey' in JwtConfig is not a key that can be read(?!.*nonsense)/,
    );
    expect(() => new JwtConfig({ algorithm: "RS256", privateKey: rsa.publicKey })).toThrow("not a private key");
  });
});

describe("a key set", () => {
  const first = pairs["ES256"]!;
  const second = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keys = [
    jwkOf(first.publicKey, { kid: "one", use: "sig", alg: "ES256" }),
    jwkOf(second.publicKey, { kid: "two", key_ops: ["verify"] }),
    jwkOf(rsa.publicKey, { kid: "rsa" }),
    jwkOf(second.publicKey, { kid: "encryption", use: "enc" }),
    jwkOf(second.publicKey, { kid: "other", alg: "ES384" }),
  ];
  const tokenBy = (privateKey: KeyObject, keyId?: string): string =>
    new JwtAuth({ algorithm: "ES256", privateKey, ...(keyId !== undefined && { keyId }) }).createToken();

  it("A key set verifies a token only with the key that its kid names", async () => {
    const jwt = new JwtAuth({ algorithm: "ES256", jwks: { keys } });
    await expect(jwt.verify(tokenBy(first.privateKey, "one"))).resolves.toBeDefined();
    await expect(jwt.verify(tokenBy(second.privateKey, "two"))).resolves.toBeDefined();
    await expect(jwt.verify(tokenBy(first.privateKey, "two"))).rejects.toThrow(UnauthorizedError);
    for (const kid of ["three", "__proto__", "encryption", "other", "/dev/null"]) {
      await expect(jwt.verify(tokenBy(second.privateKey, kid)), kid).rejects.toThrow(UnauthorizedError);
    }
    await expect(jwt.verify(tokenBy(first.privateKey))).rejects.toThrow(UnauthorizedError);
  });

  it("A key set with one key for the algorithm verifies tokens without kid too", async () => {
    const jwt = new JwtAuth({ algorithm: "ES256", jwks: { keys: [keys[0]!, keys[2]!] } });
    await expect(jwt.verify(tokenBy(first.privateKey))).resolves.toBeDefined();
    await expect(jwt.verify(tokenBy(second.privateKey))).rejects.toThrow(UnauthorizedError);
  });

  it("A key set can be read from a file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "jwks-"));
    try {
      const file = join(folder, "keys.json");
      writeFileSync(file, JSON.stringify({ keys }));
      for (const jwks of [file, pathToFileURL(file)]) {
        const jwt = new JwtAuth({ algorithm: "ES256", jwks });
        await expect(jwt.verify(tokenBy(first.privateKey, "one"))).resolves.toBeDefined();
      }
      writeFileSync(file, "no json");
      expect(() => new JwtConfig({ algorithm: "ES256", jwks: file })).toThrow(`${file}, is not JSON`);
      expect(() => new JwtConfig({ algorithm: "ES256", jwks: join(folder, "none") })).toThrow(
        "cannot be read (ENOENT)",
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("A key set of secrets allows a change of the secret while old tokens stay valid", async () => {
    const oct = (kid: string, k: string) => ({ kty: "oct", kid, k: Buffer.from(k.repeat(32)).toString("base64url") });
    const before = new JwtAuth({ algorithm: "HS256", jwks: { keys: [oct("a", "a")] }, keyId: "a" });
    const after = new JwtAuth({ algorithm: "HS256", jwks: { keys: [oct("b", "b"), oct("a", "a")] }, keyId: "b" });
    await expect(after.verify(before.createToken())).resolves.toBeDefined();
    await expect(after.verify(after.createToken())).resolves.toBeDefined();
    await expect(before.verify(after.createToken())).rejects.toThrow(UnauthorizedError);
  });

  it("A key set signs with the private key that keyId names", async () => {
    const own = { keys: [jwkOf(first.privateKey, { kid: "one" }), jwkOf(second.publicKey, { kid: "two" })] };
    const jwt = new JwtAuth({ algorithm: "ES256", jwks: own, keyId: "one" });
    await expect(new JwtAuth({ algorithm: "ES256", jwks: { keys } }).verify(jwt.createToken())).resolves.toBeDefined();
    const open = new JwtAuth({ algorithm: "ES256", jwks: own, keyId: "two" });
    expect(() => open.createToken()).toThrow("needs a secret or a private key");
    expect(() => new JwtConfig({ algorithm: "ES256", jwks: own, keyId: "three" })).toThrow("names no key of the set");
  });

  it("A key set that cannot be used is refused", () => {
    const make = (jwks: unknown) => () => new JwtConfig({ algorithm: "ES256", jwks: jwks as never });
    expect(make({ keys: [] })).toThrow("option 'jwks' in JwtConfig holds no key for ES256");
    expect(make({ keys: [keys[2]] })).toThrow("holds no key for ES256");
    expect(make({ keys: [null, 1, "x"] })).toThrow("holds no key for ES256");
    expect(make({ keys: [keys[0], keys[0]] })).toThrow("two keys with one kid");
    expect(make({ keys: [keys[0], jwkOf(second.publicKey)] })).toThrow("a key without kid");
    expect(make({})).toThrow("an object with a list 'keys'");
    expect(make({ keys: [{ kty: "EC", kid: "bad", crv: "P-256", x: "AA", y: "AA" }] })).toThrow(
      "not a key that can be read",
    );
  });
});

describe("HS384 and HS512", () => {
  it.each([
    ["HS384", "sha384"],
    ["HS512", "sha512"],
  ] as const)("Tokens by %s are compatible with those of others", async (algorithm, hash) => {
    const jwt = new JwtAuth({ secret, algorithm });
    await expect(jwt.verify(jwt.createToken({ sub: "ada" }))).resolves.toMatchObject({ sub: "ada" });
    const token = forge({ sub: "bob", exp: inOneHour() }, { alg: algorithm }, secret, hash);
    await expect(jwt.verify(token)).resolves.toMatchObject({ sub: "bob" });
    await expect(jwt.verify(forge({ exp: inOneHour() }, { alg: algorithm }, secret, "sha256"))).rejects.toThrow();
  });
});
