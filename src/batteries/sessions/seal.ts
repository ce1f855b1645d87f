import { decrypt, encrypt } from "../../kit/box.js";
import { nodeCrypto } from "../../kit/node-modules.js";

/** Turns text into something that only a holder of the secret can make, or read. */
export interface Seal {
  seal(text: string): string;
  /** The text; null when it was not sealed with one of the secrets, for this purpose. */
  open(sealed: string): string | null;
}

export type Secret = string | Uint8Array;

/** AES-256-GCM: the client can neither read nor change the data. The first secret seals, all of them open. */
export function encryptedSeal(secrets: readonly Secret[], purpose: string): Seal {
  const keys = derivedKeys(secrets, `encrypt ${purpose}`);
  return {
    seal: (text) => encrypt(keys()[0]!, text, purpose).toString("base64url"),
    open(sealed) {
      const bytes = decode(sealed);
      if (bytes === null) return null;
      for (const key of keys()) {
        try {
          return decrypt(key, bytes, purpose);
        } catch {
          // Sealed with another key, or not sealed at all.
        }
      }
      return null;
    },
  };
}

/** HMAC-SHA256: the client can read the data, but not change it. */
export function signedSeal(secrets: readonly Secret[], purpose: string): Seal {
  const keys = derivedKeys(secrets, `sign ${purpose}`);
  const sign = (key: Buffer, body: string): string =>
    nodeCrypto().createHmac("sha256", key).update(body).digest("base64url");
  return {
    seal(text) {
      const body = Buffer.from(text).toString("base64url");
      return `${body}.${sign(keys()[0]!, body)}`;
    },
    open(sealed) {
      const dot = sealed.indexOf(".");
      if (dot === -1) return null;
      const body = sealed.slice(0, dot);
      const given = Buffer.from(sealed.slice(dot + 1));
      for (const key of keys()) {
        const expected = Buffer.from(sign(key, body));
        if (given.length === expected.length && nodeCrypto().timingSafeEqual(given, expected)) {
          return Buffer.from(body, "base64url").toString("utf8");
        }
      }
      return null;
    },
  };
}

/** One secret serves several purposes without one key serving two (RFC 5869). They are made when first needed. */
function derivedKeys(secrets: readonly Secret[], info: string): () => readonly Buffer[] {
  let keys: readonly Buffer[] | undefined;
  return () => (keys ??= secrets.map((secret) => derive(secret, info)));
}

function derive(secret: Secret, info: string): Buffer {
  return Buffer.from(nodeCrypto().hkdfSync("sha256", secret, "", `stoa ${info}`, 32));
}

/** Only the one true spelling: of the last character not every bit counts. */
function decode(text: string): Buffer | null {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : null;
}
