import type { Request } from "../../http/request.js";

/** Methods that change nothing (RFC 9110 section 9.2.1). */
export function isSafe(method: string): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS" || method === "TRACE";
}

/**
 * True if a page of another origin made the browser send this request. Browsers send Sec-Fetch-Site on HTTPS and
 * localhost, and Origin everywhere; a page can change neither. A client that sends neither of the two is no browser,
 * and has nobody else's cookies.
 */
export function isFromElsewhere(request: Request): boolean {
  const site = request.source.header("sec-fetch-site");
  if (site !== undefined) return site !== "same-origin" && site !== "none";
  const origin = request.source.header("origin");
  return origin !== undefined && !isOwnHost(origin, request);
}

/** The scheme is ignored: a proxy may use another one with the client than with this server. */
function isOwnHost(origin: string, request: Request): boolean {
  try {
    const given = new URL(origin);
    const own = new URL(request.url);
    // The default port depends on the scheme.
    own.protocol = given.protocol;
    return given.origin === origin && /^https?:$/.test(given.protocol) && given.host === own.host;
  } catch {
    return false;
  }
}
