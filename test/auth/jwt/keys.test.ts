import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { algorithms } from "../../../src/auth/jwt/algorithms.js";
import { publicKey } from "../../../src/auth/jwt/keys.js";

describe("a public key", () => {
  it("A public key that cannot be used with the hash of its algorithm verifies nothing", () => {
    const only = { hashAlgorithm: "sha512", mgf1HashAlgorithm: "sha512" };
    const pair = generateKeyPairSync("rsa-pss", { modulusLength: 2048, ...only });
    const key = publicKey(algorithms.get("PS256")!, pair.publicKey);
    expect(key.verifies("head.payload", Buffer.alloc(256).toString("base64url"))).toBe(false);
  });
});
