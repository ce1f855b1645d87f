import type { Request } from "../../http/request.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import type { Secret } from "../sessions/seal.js";
import type { Sessions } from "../sessions/sessions.js";

/** The keeper of a token's other half: the session, or a cookie for it. */
export interface TokenHolder {
  /** Keys and text by which tokens of this client are signed; the first key signs. Null when the client has none yet. */
  find(request: Request): Signer | null;
  /** The same, made now when there is none. */
  make(request: Request): Signer;
}

export interface Signer {
  readonly keys: readonly (string | Buffer)[];
  readonly client: string;
}

const saltBytes = 16;
const pattern = /^[\w-]{22}\.[\w-]{43}$/;

/** Each token is different, so that the compression of a page does not give it away (BREACH). */
export function makeToken({ keys, client }: Signer): string {
  const salt = nodeCrypto().randomBytes(saltBytes).toString("base64url");
  return `${salt}.${sign(keys[0]!, client, salt)}`;
}

export function isGenuine({ keys, client }: Signer, token: unknown): boolean {
  if (typeof token !== "string" || !pattern.test(token)) return false;
  const [salt = "", signature = ""] = token.split(".");
  const given = Buffer.from(signature);
  return keys.some((key) => nodeCrypto().timingSafeEqual(Buffer.from(sign(key, client, salt)), given));
}

function sign(key: string | Buffer, client: string, salt: string): string {
  return nodeCrypto().createHmac("sha256", key).update(`${client}.${salt}`).digest("base64url");
}

const sessionKey = "_csrf";

/** The key is in the session, and the session's id is signed: after a login the tokens from before are worthless. */
export function sessionHolder(sessions: Sessions): TokenHolder {
  const signer = (request: Request, key: string): Signer => ({ keys: [key], client: sessions.of(request).id });
  return {
    find(request) {
      const key = sessions.of(request).get(sessionKey);
      return typeof key === "string" ? signer(request, key) : null;
    },
    make(request) {
      const session = sessions.of(request);
      if (typeof session.get(sessionKey) !== "string") {
        session.set(sessionKey, nodeCrypto().randomBytes(32).toString("base64url"));
      }
      return signer(request, session.get(sessionKey) as string);
    },
  };
}

/** A signed double submit: a random cookie, and a token that only this server could have made for it. */
export class CookieHolder implements TokenHolder {
  readonly #keys: readonly Buffer[];
  readonly #name: string;
  readonly #fresh = new WeakMap<Request, string>();

  constructor(secrets: readonly Secret[], name: string) {
    this.#keys = secrets.map((secret) => Buffer.from(nodeCrypto().hkdfSync("sha256", secret, "", "stoa csrf", 32)));
    this.#name = name;
  }

  find(request: Request): Signer | null {
    const cookie = request.cookies.get(this.#name);
    return cookie !== undefined && /^[\w-]{43}$/.test(cookie) ? { keys: this.#keys, client: cookie } : null;
  }

  make(request: Request): Signer {
    const found = this.find(request);
    if (found) return found;
    const client = this.#fresh.get(request) ?? nodeCrypto().randomBytes(32).toString("base64url");
    this.#fresh.set(request, client);
    return { keys: this.#keys, client };
  }

  /** The cookie that was made for this request; undefined when the client has one already. */
  fresh(request: Request): string | undefined {
    return this.#fresh.get(request);
  }
}
