import { ValueError } from "../kit/value-error.js";
import type { CookieJar } from "./cookie-jar.js";

type Field = string | number | boolean;

/** The options of a request: those of `fetch`, and shorter forms of the usual ones. */
export interface TestRequestInit extends RequestInit {
  /** A value to send as JSON. */
  readonly json?: unknown;
  /** A form: url-encoded, or multipart when it is a FormData. */
  readonly form?: Readonly<Record<string, Field | readonly Field[]>> | URLSearchParams | FormData;
  /** Query parameters, beside those in the path. */
  readonly query?: Readonly<Record<string, Field | readonly Field[]>>;
  /** Cookies for this request alone. */
  readonly cookies?: Readonly<Record<string, string>>;
}

export function buildRequest(
  baseUrl: string,
  path: string,
  init: TestRequestInit,
  jar: CookieJar | null,
): globalThis.Request {
  const { json, form, query, cookies, ...rest } = init;
  const url = resolve(baseUrl, path);
  if (query) for (const [name, value] of pairs(query)) url.searchParams.append(name, value);
  const headers = new Headers(rest.headers);
  const cookie = cookieHeader(jar?.header(url.pathname) ?? "", cookies);
  if (cookie !== "" && !headers.has("cookie")) headers.set("cookie", cookie);
  const given = { json, form, body: rest.body ?? undefined };
  const bodies = Object.entries(given).filter(([, value]) => value !== undefined);
  if (bodies.length > 1) {
    throw new ValueError(`a request has one body, but ${bodies.map(([name]) => `'${name}'`).join(" and ")} are given`);
  }
  if (json !== undefined) {
    rest.body = JSON.stringify(json);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
  } else if (form !== undefined) {
    rest.body = form instanceof FormData || form instanceof URLSearchParams ? form : new URLSearchParams(pairs(form));
  }
  return new globalThis.Request(url, { ...rest, headers });
}

export function resolve(baseUrl: string, path: string): URL {
  if (!path.startsWith("/")) throw new ValueError(`a path begins with '/', ${JSON.stringify(path)} does not`);
  return new URL(baseUrl + path);
}

function pairs(fields: Readonly<Record<string, Field | readonly Field[]>>): [string, string][] {
  return Object.entries(fields).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((item): [string, string] => [name, String(item)]),
  );
}

/** Cookies of the request win over those kept. */
export function cookieHeader(kept: string, given: Readonly<Record<string, string>> | undefined): string {
  if (!given) return kept;
  const own = Object.entries(given).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return [...own, ...(kept ? [kept] : [])].join("; ");
}
