import type { Request } from "../../http/request.js";
import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";

/** Decides about an origin that asks. */
export type OriginFunction = (origin: string, request: Request) => boolean | Promise<boolean>;

/** Sites that may read responses: `*` for all, exact origins, or a function that decides. */
export type Origins = "*" | string | readonly string[] | OriginFunction;

/** Null for all sites. Refuses values that no browser sends, since they would never match. */
export function readOrigins(origins: Origins): OriginFunction | null {
  if (typeof origins === "function") return origins;
  const list = typeof origins === "string" ? [origins] : origins;
  if (list.includes("*")) return null;
  const allowed = new Set(list.map(checkOrigin));
  return (origin) => allowed.has(origin);
}

export function isOrigins(value: unknown): string | undefined {
  if (typeof value === "string" || typeof value === "function") return undefined;
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return undefined;
  return "a list of origins, or a function (origin, request)";
}

const otherScheme = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@,*]+$/;

function checkOrigin(origin: string): string {
  if (origin === "null") {
    throw new ValueError("'null' cannot be allowed as an origin: any page can make itself have it");
  }
  const url = URL.canParse(origin) ? new URL(origin) : null;
  const exact = url?.origin === "null" ? (otherScheme.test(origin) ? origin : undefined) : url?.origin;
  if (exact === undefined || origin.includes("*")) {
    throw new ValueError(
      `${show(origin)} is not an origin; write "https://app.example", or give a function (origin, request) for patterns`,
    );
  }
  if (exact !== origin) throw new ValueError(`${show(origin)} is not how a browser writes an origin; write "${exact}"`);
  return origin;
}
