import { inspect } from "node:util";
import { JwtAuth, JwtConfig } from "stoa";
import { describe, expect, it, vi } from "vitest";
import { secret } from "../tokens.js";

describe("JwtConfig", () => {
  it("JwtConfig has the contract's fields, and accepts them by name and by position", () => {
    const bytes = Buffer.from(secret);
    for (const config of [
      new JwtConfig({ secret: bytes, algorithm: "HS384", expiration: 60 }),
      new JwtConfig(bytes, "HS384", 60),
    ]) {
      expect([config.secret, config.algorithm, config.expiration]).toEqual([bytes, "HS384", 60]);
    }
    expect(new JwtConfig({ secret })).toMatchObject({ algorithm: "HS256", expiration: 3600, leeway: 0 });
  });

  it("JwtConfig accepts and has both spellings", () => {
    const config = new JwtConfig({ secret, key_id: "k", refresh_limit: 5 });
    expect([config.keyId, config.key_id, config.refreshLimit, config.refresh_limit]).toEqual(["k", "k", 5, 5]);
  });

  it("Times of a JwtConfig are given in seconds or with a unit, and tokens count whole seconds", () => {
    const config = new JwtConfig({ secret, expiration: "15m", leeway: "500ms", refreshLimit: "1.5s" });
    expect(config).toMatchObject({ expiration: 900, leeway: 0.5, refreshLimit: 2 });
    expect(new JwtConfig(secret, "HS256", "2h").expiration).toBe(7200);
  });

  it("A printed JwtConfig shows no secret", () => {
    const config = new JwtConfig({ secret });
    const auth = new JwtAuth(config);
    for (const text of [
      inspect(config, { depth: 9 }),
      JSON.stringify(config),
      inspect(auth, { depth: 9 }),
      JSON.stringify(auth),
    ]) {
      expect(text).not.toContain(secret);
    }
  });

  it("JwtConfig refuses invalid values with the allowed ones", () => {
    const make = (options: object) => () => new JwtConfig(options as never);
    expect(make({ secret: "" })).toThrow("option 'secret' in JwtConfig must not be empty");
    expect(make({ secret: new Uint8Array() })).toThrow("must not be empty");
    expect(make({ secret: 5 })).toThrow("option 'secret' in JwtConfig must be bytes or a string");
    expect(make({ secrets: secret })).toThrow("unknown option 'secrets' in JwtConfig; did you mean 'secret'?");
    expect(make({})).toThrow("JwtConfig needs a 'secret', or an 'algorithm' with keys");
    expect(make({ secret, algorithm: "none" })).toThrow("option 'algorithm' in JwtConfig must be one of");
    expect(make({ secret, algorithm: "RS256" })).toThrow("JwtConfig with RS256 takes a key, not a secret");
    expect(make({ algorithm: "HS256" })).toThrow("takes exactly one source of keys: secret, or jwks");
    expect(make({ algorithm: "HS256", publicKey: "x" })).toThrow("JwtConfig with HS256 takes a secret");
    expect(make({ secret, jwks: { keys: [] } })).toThrow("exactly one source of keys");
    expect(make({ secret, expiration: 0 })).toThrow(
      "option 'expiration' in JwtConfig must be a duration of at least 1s, not 0",
    );
    expect(make({ secret, leeway: -1 })).toThrow("leeway");
    expect(make({ secret, revocations: {} })).toThrow("an object with has and add");
  });

  it("JwtConfig warns once of a secret with less than 32 bytes", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    new JwtConfig({ secret: "short" });
    new JwtConfig({ secret: "short, too" });
    new JwtConfig({ secret });
    expect(warned.mock.calls).toEqual([
      [
        "the secret of JwtAuth has 5 bytes; at least 32 random ones are advised",
        { type: "SecurityWarning", code: "STOA_SHORT_SECRET" },
      ],
    ]);
    warned.mockRestore();
  });
});
