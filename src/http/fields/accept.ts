/**
 * The media ranges of an Accept in lower case, with their weights (RFC 9110 section 12.5.1). Of one that occurs twice the
 * higher counts; a malformed one is 0.
 */
export function mediaRanges(accept: string): Map<string, number> {
  const ranges = new Map<string, number>();
  for (const item of accept.toLowerCase().split(",")) {
    const [range = "", ...parameters] = item.split(";").map((part) => part.trim());
    ranges.set(range, Math.max(ranges.get(range) ?? 0, weightIn(parameters)));
  }
  return ranges;
}

function weightIn(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith("q="));
  if (given === undefined) return 1;
  const value = Number(given.slice(2));
  return value >= 0 && value <= 1 ? value : 0;
}
