import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { capitalized } from "../../kit/names.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { type Check, is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { isToken } from "./headers.js";

const domainName = /^\.?[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i;
const cookiePath = /^\/[\x20-\x3a\x3c-\x7e]*$/;
// RFC 6265 section 5.1.1: no earlier year is understood; a later one has no form with four digits.
const firstDate = Date.UTC(1601, 0, 1);
const lastDate = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
const century = 36_525 * 86_400;

const isDomain: Check<string> = (value) =>
  typeof value === "string" && domainName.test(value) ? undefined : "a host name in ASCII";

const isCookiePath: Check<string> = (value) =>
  typeof value === "string" && cookiePath.test(value)
    ? undefined
    : "a path that begins with '/' and holds visible ASCII characters other than ';'";

const isCookieDate: Check<Date> = (value) =>
  value instanceof Date && value.getTime() >= firstDate && value.getTime() <= lastDate
    ? undefined
    : "a Date between the years 1601 and 9999";

const cookieOptions = options("a cookie's options", {
  /** The domain that receives the cookie, with its subdomains. Default: only the host that set it. */
  domain: option(isDomain),
  /** The path that receives the cookie, with everything below it. Default "/". */
  path: option(isCookiePath, "/"),
  /** Time for which the cookie lives; 0 or less removes it. Takes precedence over `expires`. */
  maxAge: option.duration(null, -century, century),
  /** The time at which the browser drops the cookie. Default: when the browser is closed. */
  expires: option(isCookieDate),
  /** True hides the cookie from scripts of the page. Default false. */
  httpOnly: option(is.boolean, false),
  /** True sends the cookie over HTTPS only. Default false. */
  secure: option(is.boolean, false),
  /**
   * Requests from other sites that carry the cookie: none with "strict", links to your pages with "lax", all with "none",
   * which needs `secure`. Default: the browser decides.
   */
  sameSite: option(is.oneOf("strict", "lax", "none")),
  /** True keeps a separate cookie for each site that embeds yours (CHIPS). Default false. */
  partitioned: option(is.boolean, false),
  /** The order in which a browser drops cookies if there are too many: "low" first. */
  priority: option(is.oneOf("low", "medium", "high")),
  /** Signs the value, for `request.cookies.signed()`. The first of several secrets is used. */
  secret: option.secret(is.either(is.string, is.strings), checkSecrets),
});

export interface CookieOptions extends OptionsOf<typeof cookieOptions.fields> {}

/** The cookies of a request. They are parsed on first use. */
export class Cookies implements Iterable<[name: string, value: string]> {
  readonly #header: string;
  #parsed: Map<string, string> | null = null;

  constructor(header: string) {
    this.#header = header;
  }

  get size(): number {
    return this.#values.size;
  }

  /** The decoded value of a cookie, or undefined. If several have this name, the first is used: the one with the longest path. */
  get(name: string): string | undefined {
    return this.#values.get(name);
  }

  has(name: string): boolean {
    return this.#values.has(name);
  }

  /** The value of a cookie that was signed with one of `secrets`; undefined if it is missing or its signature is wrong. */
  signed(name: string, secrets: string | readonly string[]): string | undefined {
    const candidates = checkSecrets(secrets);
    const text = this.get(name);
    const dot = text?.lastIndexOf(".") ?? -1;
    if (text === undefined || dot === -1) return undefined;
    const value = text.slice(0, dot);
    const given = Buffer.from(text.slice(dot + 1));
    const genuine = candidates.some((secret) => {
      const expected = Buffer.from(signature(name, value, secret));
      return given.length === expected.length && nodeCrypto().timingSafeEqual(given, expected);
    });
    return genuine ? value : undefined;
  }

  entries(): IterableIterator<[name: string, value: string]> {
    return this.#values.entries();
  }

  keys(): IterableIterator<string> {
    return this.#values.keys();
  }

  [Symbol.iterator](): IterableIterator<[name: string, value: string]> {
    return this.entries();
  }

  toJSON(): Record<string, string> {
    const object: Record<string, string> = Object.create(null);
    for (const [name, value] of this.#values) object[name] = value;
    return object;
  }

  get #values(): Map<string, string> {
    return (this.#parsed ??= parse(this.#header));
  }
}

export function parseCookies(header: string): Cookies {
  return new Cookies(header);
}

/** The value of a Set-Cookie field (RFC 6265 section 4.1). */
export function serializeCookie(name: string, value: string, options?: CookieOptions): string {
  const given = cookieOptions.read([options]);
  if (!isToken(name)) throw new ValueError(`${JSON.stringify(name)} is not a valid cookie name`);
  checkRules(name, given);
  const signed = given.secret === undefined ? value : `${value}.${signature(name, value, given.secret[0]!)}`;
  let cookie = `${name}=${encode(name, signed)}; Path=${given.path}`;
  if (given.domain !== undefined) cookie += `; Domain=${given.domain}`;
  if (given.maxAge !== undefined) cookie += `; Max-Age=${Math.round(given.maxAge)}`;
  if (given.expires !== undefined) cookie += `; Expires=${given.expires.toUTCString()}`;
  if (given.httpOnly) cookie += "; HttpOnly";
  if (given.secure) cookie += "; Secure";
  if (given.sameSite !== undefined) cookie += `; SameSite=${capitalized(given.sameSite)}`;
  if (given.partitioned) cookie += "; Partitioned";
  if (given.priority !== undefined) cookie += `; Priority=${capitalized(given.priority)}`;
  return cookie;
}

/**
 * The name of a cookie with the prefix `__Host-`, if its options allow that: Secure, the path "/" and no domain.
 * Browsers accept such a cookie from this host over HTTPS only, so that no other host of the domain can set it.
 */
export function hostCookieName(name: string, options: Pick<CookieOptions, "secure" | "path" | "domain">): string {
  const { secure = false, path = "/", domain } = options;
  return secure && path === "/" && domain === undefined && !/^__(?:host|secure)-/i.test(name) ? `__Host-${name}` : name;
}

/** Browsers silently drop a cookie that breaks one of these rules (RFC 6265bis sections 4.1.3 and 5.7). */
function checkRules(name: string, options: SettingsOf<typeof cookieOptions.fields>): void {
  const lower = name.toLowerCase();
  if (!options.secure) {
    if (options.sameSite === "none") throw new ValueError(`cookie '${name}': sameSite "none" requires secure: true`);
    if (options.partitioned) throw new ValueError(`cookie '${name}': partitioned requires secure: true`);
    if (lower.startsWith("__secure-") || lower.startsWith("__host-")) {
      throw new ValueError(`cookie '${name}': a name with this prefix requires secure: true`);
    }
  }
  if (lower.startsWith("__host-") && (options.path !== "/" || options.domain !== undefined)) {
    throw new ValueError(`cookie '${name}': a name with the prefix __Host- requires the path "/" and no domain`);
  }
}

/**
 * The first value of a name is used. Pairs without a name or without "=" are skipped, because browsers never send them.
 */
function parse(header: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const pair of header.split(";")) {
    const equals = pair.indexOf("=");
    if (equals === -1) continue;
    const name = trimmed(pair, 0, equals);
    if (name === "" || values.has(name)) continue;
    values.set(name, decode(trimmed(pair, equals + 1, pair.length)));
  }
  return values;
}

/** Takes off spaces and tabs alone: `trim()` would also take 0xA0, which may be half of a character sent as UTF-8. */
function trimmed(text: string, start: number, end: number): string {
  while (start < end && isBlank(text, start)) start++;
  while (end > start && isBlank(text, end - 1)) end--;
  return text.slice(start, end);
}

function isBlank(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code === 0x20 || code === 0x09;
}

function decode(raw: string): string {
  const text = raw.length >= 2 && raw.startsWith('"') && raw.endsWith('"') ? raw.slice(1, -1) : raw;
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function encode(name: string, value: string): string {
  try {
    return encodeURIComponent(value);
  } catch {
    throw new ValueError(`the value of cookie '${name}' holds half of a surrogate pair`);
  }
}

/** The name is signed too, so that a signed value cannot be moved to another cookie. */
function signature(name: string, value: string, secret: string): string {
  return nodeCrypto().createHmac("sha256", secret).update(`${name}=${value}`).digest("base64url");
}

function checkSecrets(secrets: string | readonly string[]): readonly string[] {
  const list = typeof secrets === "string" ? [secrets] : secrets;
  if (list.length === 0 || list.includes(""))
    throw new ValueError("a cookie is signed with a secret that is not empty");
  return list;
}
