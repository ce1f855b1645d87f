import { warnOnce } from "../../auth/warn-once.js";
import { type CookieOptions, serializeCookie } from "../../http/fields/cookies.js";
import { checkedOptions, type OptionsOf, option, options } from "../../kit/config.js";
import type { EitherSpelling } from "../../kit/names.js";
import { type Check, is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { Secret } from "./seal.js";
import type { SessionStore } from "./store.js";

const isSecret: Check<Secret> = (value) =>
  typeof value === "string" || value instanceof Uint8Array ? undefined : "a string or bytes";

export const secretCheck = is.either<[Secret, readonly Secret[]]>(isSecret, is.list(isSecret));

const isStore: Check<SessionStore> = (value) => {
  const methods = ["get", "set", "touch", "destroy"] as const;
  const sound = methods.every((name) => typeof (value as SessionStore | null)?.[name] === "function");
  return sound ? undefined : "an object with get, set, touch and destroy";
};

/** The session's cookie. It has no Max-Age unless sessions are persistent. */
export type SessionCookie = Pick<
  CookieOptions,
  "domain" | "path" | "httpOnly" | "secure" | "sameSite" | "partitioned" | "priority"
> & {
  /** The cookie's name. Default "__Host-session" where it is Secure, for "/" and without a domain, else "session". */
  readonly name?: string;
};

const sessionOptions = options(
  "enableSessions",
  {
    /** Seals sessions that the cookie itself holds. Of several the first seals and all open: so a secret is changed. */
    secret: option.secret(secretCheck),
    /** Keeps sessions on the server; the cookie then holds a random token. Default without a secret: the key-value store. */
    store: option(isStore),
    /** Encrypts a session in a cookie; false signs it only, so that the client can read it. Default true. */
    encrypted: option(is.boolean, true),
    /** Time without a request that uses the session until it ends, in whole seconds. Default 1 day. */
    idleTimeout: option.duration("1d", "1s", "36500d"),
    /** Time from the beginning of a session to its end, in whole seconds. Default 7 days. */
    absoluteTimeout: option.duration("7d", "1s", "36500d"),
    /** Lets the browser keep the cookie when it is closed. Default false. */
    persistent: option(is.boolean, false),
    /** The attributes of the session's cookie. Default: HttpOnly, SameSite=Lax, for the path "/". */
    cookie: option<EitherSpelling<SessionCookie>>(is.object),
  },
  {
    idle: ({ secret, idleTimeout, absoluteTimeout }) => ({
      encrypted: secret === undefined && "a session in a store is not in the cookie",
      idleTimeout: idleTimeout > absoluteTimeout && "absoluteTimeout ends the session before it",
    }),
  },
);

export interface SessionOptions extends OptionsOf<typeof sessionOptions.fields> {}

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
  /** Sentences on options that have no effect. */
  readonly doubts: readonly string[];
}

const adviceBytes = 32;

export function sessionSettings(given: unknown): SessionSettings {
  const options = sessionOptions.read([given]);
  const { secret, store } = options;
  if (secret !== undefined && store !== undefined) throw needsSecretOrStore();
  const { name: chosen, ...cookie } = readCookie("the cookie of enableSessions", options.cookie);
  const name = chosen ?? "session";
  const whole: CookieOptions = { httpOnly: true, sameSite: "lax", ...cookie };
  // Browsers take a name with such a prefix over HTTPS alone.
  const secure = /^__(?:host|secure)-/i.test(name) ? { secure: true, ...cookie } : cookie;
  serializeCookie(name, "", { ...whole, secure: true, ...secure }); // checks the name and how the options go together
  return {
    secrets: secret === undefined ? [] : checkSecrets(secret),
    store: store ?? null,
    encrypted: options.encrypted,
    idleTimeout: Math.ceil(options.idleTimeout),
    absoluteTimeout: Math.ceil(options.absoluteTimeout),
    persistent: options.persistent,
    cookieName: name,
    named: chosen !== undefined,
    cookie: { ...whole, ...secure },
    doubts: sessionOptions.idle(options),
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

// The values are checked by the cookie itself.
const readCookie = checkedOptions<SessionCookie>({
  name: is.text,
  domain: is.anything,
  path: is.anything,
  httpOnly: is.anything,
  secure: is.anything,
  sameSite: is.anything,
  partitioned: is.anything,
  priority: is.anything,
});
