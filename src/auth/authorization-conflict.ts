import type { Middleware } from "../pipeline/middleware.js";
import { SchemeAuth } from "./auth.js";

/**
 * A sentence about two middlewares of a route that both read the Authorization field, or null. A request has one such
 * field, so that it can satisfy one of them only.
 */
export function authorizationConflict(middleware: readonly Middleware[], owner: string, path: string): string | null {
  const readers = middleware.filter(
    (item): item is SchemeAuth =>
      item instanceof SchemeAuth && item.securityScheme.type === "http" && !item.skips(path),
  );
  if (readers.length < 2) return null;
  const names = readers.map((item) => item.constructor.name).join(" and ");
  return (
    `${names} both read the Authorization header, so no request to ${owner} can satisfy both: ` +
    "accept either of them with new AnyAuth(...), or give each its own paths with skipPath()"
  );
}
