import { mediaRanges } from "../../http/fields/accept.js";

// HTML must be named itself, so that curl and fetch, which send */*, get JSON; and it must be rated above JSON, or as high
// where JSON is only covered by a wildcard (RFC 9110 section 12.5.1).
export function prefersHtml(accept: string | undefined): boolean {
  if (!accept?.toLowerCase().includes("text/html")) return false;
  const ranges = mediaRanges(accept);
  const html = ranges.get("text/html") ?? 0;
  const named = ranges.get("application/json");
  const json = named ?? ranges.get("application/*") ?? ranges.get("*/*") ?? 0;
  return html > json || (html > 0 && html === json && named === undefined);
}
