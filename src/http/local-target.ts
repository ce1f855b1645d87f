/** An origin that no server has. */
const base = "http://stoa.invalid";

/**
 * The target of a redirect if it stays on this site: a path, with a query and a fragment perhaps. Undefined for all others:
 * browsers read `//host`, `/\host` and a path with a tab or a line break in it as the address of another site.
 */
export function localTarget(target: unknown): string | undefined {
  if (typeof target !== "string" || !/^\/(?![/\\])/.test(target) || /[\x00-\x1f\x7f\\]/.test(target)) return undefined;
  // The last word has the parser that browsers use. `/.//host` has the path `//host`.
  const url = URL.canParse(target, base) ? new URL(target, base) : null;
  return url?.origin === base && !url.pathname.startsWith("//") ? target : undefined;
}
