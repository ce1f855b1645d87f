import type { KeyObject } from "node:crypto";
import { nodeCrypto } from "../../kit/node-modules.js";
import { ValueError } from "../../kit/value-error.js";
import type { Algorithm } from "./algorithms.js";
import type { JsonWebKey, NamedJsonWebKey } from "./json-web-key.js";

/** A key as it may be given: PEM text or bytes, a JWK, or a `KeyObject`. */
export type KeyInput = string | Uint8Array | JsonWebKey | NamedJsonWebKey | KeyObject;

/** A key that verifies. Signatures are base64url; `input` is the header and the payload of the token, as received. */
export interface VerificationKey {
  verifies(input: string, signature: string): boolean;
}

export interface SigningKey {
  sign(input: string): string;
}

/** RFC 7518 section 3.3. */
const minRsaBits = 2048;
const base64url = /^[\w-]+$/;

export function hmacKey(algorithm: Algorithm, secret: KeyObject): VerificationKey & SigningKey {
  const hash = algorithm.hash!;
  const mac = (input: string): string => nodeCrypto().createHmac(hash, secret).update(input).digest("base64url");
  return {
    sign: mac,
    // Compared as text: some bits of the last character of a MAC are unused, and only the canonical encoding is
    // accepted.
    verifies(input, signature) {
      const expected = Buffer.from(mac(input));
      const given = Buffer.from(signature);
      return given.length === expected.length && nodeCrypto().timingSafeEqual(given, expected);
    },
  };
}

export function publicKey(algorithm: Algorithm, given: KeyInput): VerificationKey {
  const key = importKey(algorithm, "publicKey", given, (input) =>
    isKeyObject(input) && input.type === "public" ? input : nodeCrypto().createPublicKey(input as never),
  );
  const { hash, parameters } = algorithm;
  return {
    verifies(input, signature) {
      if (!base64url.test(signature)) return false;
      const bytes = Buffer.from(signature, "base64url");
      if (bytes.toString("base64url") !== signature) return false;
      try {
        return nodeCrypto().verify(hash, Buffer.from(input), { key, ...parameters }, bytes);
      } catch {
        return false;
      }
    },
  };
}

export function privateKey(algorithm: Algorithm, given: KeyInput): SigningKey {
  const key = importKey(algorithm, "privateKey", given, (input) =>
    isKeyObject(input) ? input : nodeCrypto().createPrivateKey(input as never),
  );
  if (key.type !== "private") throw new ValueError("option 'private_key' in JwtConfig is not a private key");
  const { hash, parameters } = algorithm;
  return {
    sign: (input) =>
      nodeCrypto()
        .sign(hash, Buffer.from(input), { key, ...parameters })
        .toString("base64url"),
  };
}

export function secretKey(secret: string | Uint8Array): KeyObject {
  return nodeCrypto().createSecretKey(typeof secret === "string" ? Buffer.from(secret) : secret);
}

type Importable = string | Buffer | KeyObject | { key: JsonWebKey; format: "jwk" };

function importKey(
  algorithm: Algorithm,
  option: string,
  given: KeyInput,
  create: (input: Importable) => KeyObject,
): KeyObject {
  let key: KeyObject;
  try {
    key = create(importable(given));
  } catch {
    // The cause may quote the key.
    throw new ValueError(
      `option '${option}' in JwtConfig is not a key that can be read: give PEM, a JWK or a KeyObject`,
    );
  }
  checkKey(algorithm, option, key);
  return key;
}

function isKeyObject(value: unknown): value is KeyObject {
  return value instanceof nodeCrypto().KeyObject;
}

function importable(given: KeyInput): Importable {
  if (typeof given === "string" || isKeyObject(given)) return given;
  if (given instanceof Uint8Array) return Buffer.from(given);
  return { key: given, format: "jwk" };
}

/**
 * Refuses keys that do not fit the algorithm: with another kind of key every token would be invalid, with a weak key
 * any client could make valid ones.
 */
function checkKey(algorithm: Algorithm, option: string, key: KeyObject): void {
  const kind = key.asymmetricKeyType ?? "secret";
  const details = key.asymmetricKeyDetails;
  if (!algorithm.accepts.includes(kind) || (algorithm.curve !== null && details?.namedCurve !== algorithm.curve)) {
    const found = details?.namedCurve === undefined ? kind : `${kind}, ${details.namedCurve}`;
    throw new ValueError(`option '${option}' in JwtConfig is a key (${found}) that ${algorithm.name} cannot use`);
  }
  if (algorithm.keyType === "RSA" && (details?.modulusLength ?? 0) < minRsaBits) {
    throw new ValueError(`option '${option}' in JwtConfig is an RSA key of less than ${minRsaBits} bits`);
  }
}
