import { nodeCrypto } from "../../kit/node-modules.js";

/** Ids that are made at once. */
const batch = 128;
const idLength = 36;
const digits = Buffer.from("0123456789abcdef", "latin1");
const hyphen = 0x2d;

let random: Uint8Array | null = null;
let ids: Buffer | null = null;
let next = batch;

/**
 * A random UUID (RFC 9562, version 4), as `crypto.randomUUID` makes it. That one joins 20 pieces of text, which costs every
 * reader of the id: with the reading 280 nanoseconds, and 155 for this one, with a tenth of the memory.
 */
export function uuid(): string {
  if (next === batch) refill();
  const at = next++ * idLength;
  return ids!.toString("latin1", at, at + idLength);
}

function refill(): void {
  random ??= new Uint8Array(batch * 16);
  ids ??= Buffer.allocUnsafeSlow(batch * idLength);
  nodeCrypto().randomFillSync(random);
  let to = 0;
  for (let i = 0; i < random.length; i++) {
    const place = i & 15;
    let byte = random[i]!;
    if (place === 6) byte = (byte & 0x0f) | 0x40;
    else if (place === 8) byte = (byte & 0x3f) | 0x80;
    if (place === 4 || place === 6 || place === 8 || place === 10) ids[to++] = hyphen;
    ids[to++] = digits[byte >> 4]!;
    ids[to++] = digits[byte & 15]!;
  }
  next = 0;
}
