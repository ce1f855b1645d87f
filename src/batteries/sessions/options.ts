import { warnOnce } from "../../auth/warn-once.js";
import { type CookieOptions, serializeCookie } from "../../http/cookies.js";
import type { EitherSpelling } from "../../internal/names.js";
import { type Checks, is, readOptions } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import type { Secret } from "./seal.js";
import type { SessionStore } from "./store.js";

/** The session's cookie. It has no Max-Age unless sessions are persistent. */
export type SessionCookie = Pick<
  CookieOptions,
  "domain" | "path" | "httpOnly" | "secure" | "sameSite" | "partitioned" | "priority"
> & {
  /** The cookie's name. Default "__Host-session" where it is Secure, for "/" and without a domain, else "session". */
  readonly name?: string;
};

export interface SessionOptions {
  /** Seals sessions that the cookie itself holds. Of several the first seals and all open: so a secret is changed. */
  readonly secret?: Secret | readonly Secret[];
  /** Keeps sessions on the server; the cookie then holds a random token. Default without a secret: the key-value store. */
  readonly store?: SessionStore;
  /** Encrypts a session in a cookie; false signs it only, so that the client can read it. Default true. */
  readonly encrypted?: boolean;
  /** Seconds without a request that uses the session until it ends. Default one day. */
  readonly idleTimeout?: number;
  /** Seconds from the beginning of a session to its end. Default 7 days. */
  readonly absoluteTimeout?: number;
  /** Lets the browser keep the cookie when it is closed. Default false. */
  readonly persistent?: boolean;
  /** The attributes of the session's cookie. Default: HttpOnly, SameSite=Lax, for the path "/". */
  readonly cookie?: EitherSpelling<SessionCookie>;
}

/** The options with their defaults. */
export interface SessionSettings {
  readonly secrets: readonly Secret[];
  readonly store: SessionStore | null;
  readonly encrypted: boolean;
  readonly idleTimeout: number;
  readonly absoluteTimeout: number;
  readonly persistent: boolean;
  readonly cookieName: string;
  /** True if the options name the cookie. */
  readonly named: boolean;
  /** `secure` is left open where only the start can tell. */
  readonly cookie: CookieOptions;
}

const day = 24 * 3600;
const adviceBytes = 32;

export function sessionSettings(given: unknown): SessionSettings {
  const options = readOptions<SessionOptions>("enableSessions", given, checks);
  const { secret, store } = options;
  if (secret !== undefined && store !== undefined) throw needsSecretOrStore();
  const { name: chosen, ...cookie } = readOptions<SessionCookie>(
    "the cookie of enableSessions",
    options.cookie,
    cookieChecks,
  );
  const name = chosen ?? "session";
  const whole: CookieOptions = { httpOnly: true, sameSite: "lax", ...cookie };
  // Browsers take a name with such a prefix over HTTPS alone.
  const secure = /^__(?:host|secure)-/i.test(name) ? { secure: true, ...cookie } : cookie;
  serializeCookie(name, "", { ...whole, secure: true, ...secure }); // checks the name and how the options go together
  return {
    secrets: secret === undefined ? [] : checkSecrets(secret),
    store: store ?? null,
    encrypted: options.encrypted ?? true,
    idleTimeout: options.idleTimeout ?? day,
    absoluteTimeout: options.absoluteTimeout ?? 7 * day,
    persistent: options.persistent ?? false,
    cookieName: name,
    named: chosen !== undefined,
    cookie: { ...whole, ...secure },
  };
}

/** Without either, sessions are kept in the key-value store, where one is enabled. */
export function needsSecretOrStore(): ValueError {
  return new ValueError(
    "enableSessions takes a secret, for sessions in the cookie, or a store, for sessions here: app.enableKvstore() gives one",
  );
}

/** Also used by the protection against forged requests. */
export function checkSecrets(given: Secret | readonly Secret[]): readonly Secret[] {
  const secrets: readonly Secret[] = Array.isArray(given) ? given : [given as Secret];
  if (secrets.length === 0) throw new ValueError("a list of secrets must not be empty");
  for (const secret of secrets) {
    if (secret.length === 0) throw new ValueError("a secret must not be empty");
    if (Buffer.byteLength(secret) < adviceBytes) {
      warnOnce("STOA_SHORT_SESSION_SECRET", `a secret of sessions has less than ${adviceBytes} bytes`);
    }
  }
  return secrets;
}

function isSecret(value: unknown): string | undefined {
  return typeof value === "string" || value instanceof Uint8Array ? undefined : "a string or bytes";
}

export const secretCheck = is.either(isSecret, is.list(isSecret));

const checks: Checks<SessionOptions> = {
  secret: secretCheck,
  store: (value) => {
    const methods = ["get", "set", "touch", "destroy"] as const;
    const sound = methods.every((name) => typeof (value as SessionStore | null)?.[name] === "function");
    return sound ? undefined : "an object with get, set, touch and destroy";
  },
  encrypted: is.boolean,
  idleTimeout: is.integer(1),
  absoluteTimeout: is.integer(1),
  persistent: is.boolean,
  cookie: is.object,
};

// The values are checked by the cookie itself.
const cookieChecks: Checks<SessionCookie> = {
  name: is.text,
  domain: is.anything,
  path: is.anything,
  httpOnly: is.anything,
  secure: is.anything,
  sameSite: is.anything,
  partitioned: is.anything,
  priority: is.anything,
};
