import { readFileSync } from "node:fs";
import { isPlainObject } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { warnOnce } from "../warn-once.js";
import type { Algorithm } from "./algorithms.js";
import type { JsonWebKey } from "./json-web-key.js";
import type { Jwks, KeyRing } from "./key-set.js";
import {
  hmacKey,
  type KeyInput,
  privateKey,
  publicKey,
  type SigningKey,
  secretKey,
  type VerificationKey,
} from "./keys.js";

import { fileTimes, ReloadedKeys, remoteTimes } from "./reloaded-keys.js";

export type { Jwks, KeyRing };

/** The source of the keys: a secret, a pair of keys, or a set, in a file or as an object. */
export interface KeySources {
  readonly secret?: string | Uint8Array | undefined;
  readonly publicKey?: KeyInput | undefined;
  readonly privateKey?: KeyInput | undefined;
  readonly jwks?: Jwks | string | URL | undefined;
  readonly keyId?: string | undefined;
}

const adviceBytes = 32;
/** Keys of another issuer that are tried for a token without `kid`: each costs a verification. */
const maxTried = 8;

export function keyRing(algorithm: Algorithm, sources: KeySources): KeyRing {
  const { secret, publicKey: open, privateKey: own, jwks } = sources;
  const symmetric = algorithm.keyType === "oct";
  const kinds = [secret, open ?? own, jwks].filter((source) => source !== undefined).length;
  if (kinds !== 1) {
    const wanted = symmetric ? "secret" : "publicKey or privateKey";
    throw new ValueError(`JwtConfig with ${algorithm.name} takes exactly one source of keys: ${wanted}, or jwks`);
  }
  if (jwks !== undefined) return fromJwks(algorithm, jwks, sources.keyId);
  if (symmetric !== (secret !== undefined)) {
    throw new ValueError(`JwtConfig with ${algorithm.name} takes ${symmetric ? "a secret" : "a key, not a secret"}`);
  }
  if (secret !== undefined) {
    const key = hmacKey(algorithm, secretKey(checkSecret(secret)));
    return { find: () => key, signing: key };
  }
  const key = publicKey(algorithm, (open ?? own)!);
  return { find: () => key, signing: own === undefined ? null : privateKey(algorithm, own) };
}

function checkSecret(secret: string | Uint8Array): string | Uint8Array {
  const bytes = Buffer.from(secret as string);
  if (bytes.length === 0) throw new ValueError("option 'secret' in JwtConfig must not be empty");
  // A public key is not secret: used as a secret, it would let every client sign.
  if (bytes.includes("-----BEGIN")) throw new ValueError("option 'secret' in JwtConfig is a key in PEM; see publicKey");
  if (bytes.length < adviceBytes) {
    warnOnce(
      "STOA_SHORT_SECRET",
      `the secret of JwtAuth has ${bytes.length} bytes; at least ${adviceBytes} random ones are advised`,
    );
  }
  return secret;
}

function fromJwks(algorithm: Algorithm, jwks: Jwks | string | URL, keyId: string | undefined): KeyRing {
  const ringOf = (set: Jwks): KeyRing => fromSet(algorithm, set, keyId);
  if (typeof jwks !== "string" && !(jwks instanceof URL)) return ringOf(readSet(jwks));
  const url = jwksAddress(jwks);
  if (url === null) {
    const read = (): KeyRing => ringOf(readSet(jwks));
    return new ReloadedKeys(async () => ({ ring: read(), maxAge: undefined }), fileTimes, read());
  }
  // A secret that is sent over the network, and that the issuer gives to all clients, is none.
  if (algorithm.keyType === "oct") {
    throw new ValueError(`JwtConfig with ${algorithm.name} takes no address in option 'jwks': its keys are secret`);
  }
  if (keyId !== undefined)
    throw new ValueError("option 'keyId' in JwtConfig cannot be used with keys of another issuer");
  return new ReloadedKeys(async () => {
    const { fetchJwks } = await import("./fetch-jwks.js");
    const { set, maxAge } = await fetchJwks(url);
    // One bad key of another issuer must not take the others with it.
    return { ring: fromSet(algorithm, set, undefined, true), maxAge };
  }, remoteTimes);
}

/** Keys for other uses and algorithms are passed over, as RFC 7517 section 5 asks. */
function fromSet(algorithm: Algorithm, set: Jwks, keyId: string | undefined, lenient = false): KeyRing {
  const usable = set.keys.filter((jwk) => isUsable(jwk, algorithm));
  if (usable.length === 0) throw new ValueError(`option 'jwks' in JwtConfig holds no key for ${algorithm.name}`);
  const keys = new Map<unknown, VerificationKey>();
  const imported: VerificationKey[] = [];
  for (const jwk of usable) {
    const kid = jwk["kid"];
    if (keys.has(kid) && !lenient) throw new ValueError("option 'jwks' in JwtConfig holds two keys with one kid");
    if (kid === undefined && usable.length > 1 && !lenient)
      throw new ValueError("option 'jwks' in JwtConfig holds a key without kid");
    try {
      const key = algorithm.keyType === "oct" ? fromOctets(algorithm, jwk) : publicKey(algorithm, jwk);
      const other = keys.get(kid);
      imported.push(key);
      keys.set(kid, other === undefined ? key : eitherOf(other, key));
    } catch (error) {
      if (!lenient) throw error;
    }
  }
  if (keys.size === 0) throw new ValueError("option 'jwks' in JwtConfig holds no key that can be used");
  const any = imported.length <= (lenient ? maxTried : 1) ? imported.reduce(eitherOf) : null;
  return {
    find: (kid) => (kid === undefined ? any : null) ?? keys.get(kid) ?? null,
    signing: signingKey(algorithm, usable, keyId),
  };
}

/** Issuers replace a key under the same `kid`, and publish both for a while. */
function eitherOf(first: VerificationKey, second: VerificationKey): VerificationKey {
  return { verifies: (input, signature) => first.verifies(input, signature) || second.verifies(input, signature) };
}

function isUsable(jwk: Jwks["keys"][number], algorithm: Algorithm): boolean {
  if (!isPlainObject(jwk) || jwk["kty"] !== algorithm.keyType) return false;
  if (jwk["alg"] !== undefined && jwk["alg"] !== algorithm.name) return false;
  if (jwk["use"] !== undefined && jwk["use"] !== "sig") return false;
  const operations = jwk["key_ops"];
  return (
    operations === undefined || (Array.isArray(operations) && operations.some((item) => /^(?:sign|verify)$/.test(item)))
  );
}

function fromOctets(algorithm: Algorithm, jwk: JsonWebKey): VerificationKey & SigningKey {
  const secret = Buffer.from(String(jwk.k ?? ""), "base64url");
  return hmacKey(algorithm, secretKey(checkSecret(secret)));
}

/** The key of a set that makes tokens: the one that `keyId` names, if its private half is present. */
function signingKey(algorithm: Algorithm, usable: Jwks["keys"], keyId: string | undefined): SigningKey | null {
  if (keyId === undefined) return null;
  const jwk = usable.find((candidate) => candidate["kid"] === keyId);
  if (!jwk) throw new ValueError("option 'keyId' in JwtConfig names no key of the set");
  if (algorithm.keyType === "oct") return fromOctets(algorithm, jwk);
  return jwk.d === undefined ? null : privateKey(algorithm, jwk);
}

function readSet(given: Jwks | string | URL): Jwks {
  let set: unknown = given;
  if (typeof given === "string" || given instanceof URL) {
    try {
      set = JSON.parse(readFileSync(given, "utf8"));
    } catch (error) {
      const reason =
        error instanceof SyntaxError ? "is not JSON" : `cannot be read (${(error as NodeJS.ErrnoException).code})`;
      throw new ValueError(`the file of option 'jwks' in JwtConfig, ${given}, ${reason}`);
    }
  }
  if (!isPlainObject(set) || !Array.isArray(set["keys"])) {
    throw new ValueError("option 'jwks' in JwtConfig must be a key set: an object with a list 'keys'");
  }
  return set as unknown as Jwks;
}

/** The address of a key set; null for the path of a file. Throws if the address is not safe. */
function jwksAddress(given: string | URL): URL | null {
  const text = String(given);
  if (!/^https?:/i.test(text)) return null;
  if (!URL.canParse(text)) throw new ValueError(`option 'jwks' in JwtConfig is not a valid address: ${text}`);
  const url = new URL(text);
  const isLocal = /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  // Who can change the response on its way can sign tokens.
  if (url.protocol !== "https:" && !isLocal) {
    throw new ValueError("option 'jwks' in JwtConfig must be an https address, or http on this machine");
  }
  if (url.username || url.password) throw new ValueError("option 'jwks' in JwtConfig must not hold a password");
  return url;
}
