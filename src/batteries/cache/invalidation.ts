import { fieldOf } from "../../http/fields/response-fields.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import { addressTag, originOf } from "./cache-key.js";

/** Methods that change nothing (RFC 9110 section 9.2.1). */
const safe = new Set(["GET", "HEAD", "OPTIONS", "TRACE", "PROPFIND", "QUERY", "REPORT", "SEARCH"]);

export function isSafe(method: string): boolean {
  return safe.has(method);
}

/**
 * The addresses that a request may have changed (RFC 9111 section 4.4): its own, and those that the response names if
 * they are of the same host. None if the request failed.
 */
export function changedAddresses(request: Request, response: Response): string[] {
  if (isSafe(request.method) || response.status < 200 || response.status >= 400) return [];
  const origin = originOf(request);
  const tags = [addressTag(origin, request.path)];
  for (const name of ["Location", "Content-Location"]) {
    const named = fieldOf(response, name);
    const tag = named === undefined ? null : sameHost(named, origin, request.path);
    if (tag !== null) tags.push(tag);
  }
  return tags;
}

function sameHost(address: string, origin: string, path: string): string | null {
  try {
    const base = new URL(path, origin);
    const url = new URL(address, base);
    return url.host === base.host ? addressTag(origin, url.pathname) : null;
  } catch {
    return null;
  }
}
