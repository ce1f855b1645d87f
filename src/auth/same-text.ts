import { nodeCrypto } from "../internal/node-modules.js";

/** Of this process alone, so that nobody outside can tell which texts have digests that begin alike. */
let processKey: Buffer | undefined;

/** A text's stand-in for comparisons: all are equally long. */
export function blinded(text: string): Buffer {
  processKey ??= nodeCrypto().randomBytes(32);
  return nodeCrypto().createHmac("sha256", processKey).update(text).digest();
}

/** Whether two texts are equal, in a time that does not tell where they differ. For passwords, keys and tokens. */
export function constantTimeEqual(a: string, b: string): boolean {
  return nodeCrypto().timingSafeEqual(blinded(a), blinded(b));
}
