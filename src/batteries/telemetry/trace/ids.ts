import { nodeCrypto } from "../../../kit/node-modules.js";

const poolBytes = 8192;
let pool = "";
let taken = 0;

/** 32 random hexadecimal digits. They are cut from a pool: one call to the system makes the ids of 340 spans. */
export function newTraceId(): string {
  return take(32);
}

export function newSpanId(): string {
  return take(16);
}

function take(length: number): string {
  if (taken + length > pool.length) {
    pool = nodeCrypto().randomBytes(poolBytes).toString("hex");
    taken = 0;
  }
  const id = pool.slice(taken, (taken += length));
  // All zeros stand for no id.
  return id.startsWith("00000000") && /^0+$/.test(id) ? take(length) : id;
}
