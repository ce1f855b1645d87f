import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** Of this process alone, so that nobody outside can tell which texts have digests that begin alike. */
const processKey: Buffer = randomBytes(32);

/** A text's stand-in for comparisons: all are equally long. */
export function blinded(text: string): Buffer {
  return createHmac("sha256", processKey).update(text).digest();
}

/** Whether two texts are equal, in a time that does not tell where they differ. For passwords, keys and tokens. */
export function constantTimeEqual(a: string, b: string): boolean {
  return timingSafeEqual(blinded(a), blinded(b));
}
