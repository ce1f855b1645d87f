interface StoredCookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  /** In milliseconds since 1970; Infinity for as long as the jar lives. */
  readonly expires: number;
}

/** Cookies as a browser would keep them for the one host that a test speaks to. */
export class CookieJar {
  readonly #cookies = new Map<string, StoredCookie>();

  /** The value of a cookie, whatever its path. */
  get(name: string): string | undefined {
    return this.#alive().find((cookie) => cookie.name === name)?.value;
  }

  set(name: string, value: string): void {
    this.#keep({ name, value: encodeURIComponent(value), path: "/", expires: Number.POSITIVE_INFINITY });
  }

  clear(): void {
    this.#cookies.clear();
  }

  /** Takes the Set-Cookie fields of a response. */
  store(setCookie: readonly string[], requestPath: string): void {
    for (const line of setCookie) {
      const cookie = parse(line, requestPath);
      if (cookie) this.#keep(cookie);
    }
  }

  /** The Cookie field for a request: the longest path first (RFC 6265 section 5.4); empty when there is none. */
  header(path: string): string {
    return this.#alive()
      .filter((cookie) => matches(path, cookie.path))
      .sort((a, b) => b.path.length - a.path.length)
      .map((cookie) => `${cookie.name}=${cookie.value}`)
      .join("; ");
  }

  #keep(cookie: StoredCookie): void {
    const key = `${cookie.name};${cookie.path}`;
    if (cookie.expires <= Date.now()) this.#cookies.delete(key);
    else this.#cookies.set(key, cookie);
  }

  #alive(): StoredCookie[] {
    const now = Date.now();
    return [...this.#cookies.values()].filter((cookie) => cookie.expires > now);
  }
}

function parse(line: string, requestPath: string): StoredCookie | null {
  const [pair = "", ...attributes] = line.split(";").map((part) => part.trim());
  const equals = pair.indexOf("=");
  if (equals < 1) return null;
  let path = requestPath.slice(0, requestPath.lastIndexOf("/")) || "/";
  let expires = Number.POSITIVE_INFINITY;
  let maxAge: number | undefined;
  for (const attribute of attributes) {
    const [name = "", value = ""] = attribute.split(/=(.*)/s);
    if (/^path$/i.test(name) && value.startsWith("/")) path = value;
    else if (/^max-age$/i.test(name) && /^-?\d+$/.test(value)) maxAge = Number(value);
    else if (/^expires$/i.test(name) && !Number.isNaN(Date.parse(value))) expires = Date.parse(value);
  }
  if (maxAge !== undefined) expires = Date.now() + maxAge * 1000;
  return { name: pair.slice(0, equals), value: pair.slice(equals + 1), path, expires };
}

function matches(path: string, cookiePath: string): boolean {
  if (path === cookiePath) return true;
  return path.startsWith(cookiePath.endsWith("/") ? cookiePath : `${cookiePath}/`);
}
