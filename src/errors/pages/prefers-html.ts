// HTML must be named itself, so that curl and fetch, which send */*, get JSON; and it must be rated above JSON, or as high
// where JSON is only covered by a wildcard (RFC 9110 section 12.5.1).
export function prefersHtml(accept: string | undefined): boolean {
  if (!accept?.toLowerCase().includes("text/html")) return false;
  const ranges = new Map<string, number>();
  for (const item of accept.toLowerCase().split(",")) {
    const [range = "", ...parameters] = item.split(";").map((part) => part.trim());
    ranges.set(range, Math.max(ranges.get(range) ?? 0, quality(parameters)));
  }
  const html = ranges.get("text/html") ?? 0;
  const named = ranges.get("application/json");
  const json = named ?? ranges.get("application/*") ?? ranges.get("*/*") ?? 0;
  return html > json || (html > 0 && html === json && named === undefined);
}

function quality(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith("q="));
  if (given === undefined) return 1;
  const value = Number(given.slice(2));
  return value >= 0 && value <= 1 ? value : 0;
}
