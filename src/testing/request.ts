import { checkedOptions } from "../kit/config.js";
import { type Check, is } from "../kit/options.js";
import { isRecord } from "../kit/own-property.js";
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

/** Options of `fetch` that newer versions of Node and browsers have, and the types of this one do not. */
type NewerInit = Partial<Record<"cache" | "priority", string>>;

const isForm: Check = (value) =>
  value instanceof URLSearchParams || value instanceof FormData || is.record(value) === undefined
    ? undefined
    : "an object of names and values, URLSearchParams or FormData";

const readInit = checkedOptions<TestRequestInit & NewerInit>({
  json: is.anything,
  form: isForm,
  query: is.record,
  cookies: is.record,
  method: is.text,
  headers: is.object,
  body: is.anything,
  redirect: is.string,
  signal: is.signal,
  duplex: is.string,
  keepalive: is.boolean,
  integrity: is.string,
  credentials: is.string,
  mode: is.string,
  referrer: is.string,
  referrerPolicy: is.string,
  dispatcher: is.object,
  window: is.anything,
  cache: is.string,
  priority: is.string,
});

/** Reads the options of a request, for the call that takes them. */
export function readRequestInit(call: string, given: unknown): TestRequestInit {
  const init = readInit(call, given);
  // Null is a value of JSON, and not an option that is not given.
  return isRecord(given) && given["json"] === null ? { ...init, json: null } : init;
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
