import { createHmac } from "node:crypto";

export const secret = "a secret of at least thirty-two bytes";

const encode = (value: unknown): string =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");

export const inOneHour = (): number => Math.floor(Date.now() / 1000) + 3600;

/** A token made by hand, so that it can be wrong in every way. */
export function forge(
  payload: unknown,
  header: unknown = { alg: "HS256", typ: "JWT" },
  key: string | Buffer = secret,
  hash = "sha256",
): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${createHmac(hash, key).update(input).digest("base64url")}`;
}
