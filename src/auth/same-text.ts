import { nodeCrypto } from "../kit/node-modules.js";

/** A random key of this process, so that no client can find texts whose digests have the same beginning. */
let processKey: Buffer | undefined;

/** A digest of a text, for comparisons. All digests have the same length. */
export function blinded(text: string): Buffer {
  processKey ??= nodeCrypto().randomBytes(32);
  return nodeCrypto().createHmac("sha256", processKey).update(text).digest();
}

/** Compares two texts in constant time. Use it for passwords, keys and tokens. */
export function constantTimeEqual(a: string, b: string): boolean {
  return nodeCrypto().timingSafeEqual(blinded(a), blinded(b));
}
