import type { BodyCoding, DecompressRules } from "./content-encoding.js";

/** The decoder of bodies. It is loaded with the first body that has a coding: few routes accept one. */
export function loadDecoder(): Promise<typeof import("./decode-body.js")> {
  return import("./decode-body.js");
}

/** The decoded bytes of a body as they arrive. Throws 413 beyond the limits, and 400 if the bytes are not valid. */
export async function* decodeStream(
  source: AsyncIterable<Uint8Array>,
  coding: BodyCoding,
  rules: DecompressRules,
  limit: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const decoder = await loadDecoder();
  yield* decoder.decodeStream(source, coding, rules, limit);
}
