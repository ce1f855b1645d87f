/** The content codings that can be offered. */
export type ContentCoding = "br" | "gzip";

/** Returns the codings that a client accepts, best first, from its Accept-Encoding. */
export type CodingNegotiator = (field: string | undefined) => readonly ContentCoding[];

const none: readonly ContentCoding[] = [];
const maxKnown = 100;
const maxKnownLength = 200;

/** Clients send few different fields, so each is parsed once; the cache of results is bounded. */
export function codingNegotiator(offered: readonly ContentCoding[]): CodingNegotiator {
  const known = new Map<string, readonly ContentCoding[]>();
  return (field) => {
    if (field === undefined) return none;
    let codings = known.get(field);
    if (codings === undefined) {
      codings = acceptedCodings(field, offered);
      if (known.size < maxKnown && field.length <= maxKnownLength) known.set(field, codings);
    }
    return codings;
  };
}

/**
 * The offered codings that a client accepts (RFC 9110 section 12.5.3), best first; equal ones in the order offered. A
 * coding with a lower weight than the plain body is left out.
 */
export function acceptedCodings(field: string, offered: readonly ContentCoding[]): readonly ContentCoding[] {
  const weights = parseWeights(field);
  const weightOf = (coding: string): number => weights.get(coding) ?? weights.get("*") ?? 0;
  const plain = weights.get("identity") ?? 0;
  return offered
    .filter((coding) => weightOf(coding) > 0 && weightOf(coding) >= plain)
    .sort((a, b) => weightOf(b) - weightOf(a));
}

function parseWeights(field: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const item of field.split(",")) {
    const [name = "", ...parameters] = item.split(";");
    const coding = name.trim().toLowerCase();
    if (coding === "") continue;
    // Section 8.4.1.3: "x-gzip" is another name of gzip.
    const key = coding === "x-gzip" ? "gzip" : coding;
    // If a coding occurs twice, the lower weight counts: a coding that the client refuses anywhere is never used.
    weights.set(key, Math.min(weightIn(parameters), weights.get(key) ?? 1));
  }
  return weights;
}

const weight = /^[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)[ \t]*$/i;

/** The weight; 1 if none is given, 0 if it is malformed. */
function weightIn(parameters: readonly string[]): number {
  if (parameters.length === 0) return 1;
  const match = parameters.length === 1 ? weight.exec(parameters[0]!) : null;
  return match ? Number(match[1]) : 0;
}
