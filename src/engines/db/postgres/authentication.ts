import type { DatabaseConfig } from "../config.js";
import { type AuthMethod, parseRequireAuth } from "../require-auth.js";
import { isLoopback } from "./loopback.js";
import type { PgClient } from "./pg-module.js";

/** The server asks for something that must not be given to it, or gives less than was required. */
export class AuthenticationRefused extends Error {
  /** True if it would be given over TLS. */
  readonly needsTls: boolean;

  constructor(message: string, needsTls = false) {
    super(message);
    this.needsTls = needsTls;
  }
}

export interface AuthenticationGuard {
  /** The way of authentication that the server asked for. */
  readonly method: AuthMethod;
  /** Throws if the connection was refused. */
  assertAccepted(): void;
}

const boundMechanism = "SCRAM-SHA-256-PLUS";

/**
 * Checks the requests of a server while a connection is authenticated, and ends the connection before the driver responds
 * to one that must be refused. The driver gives a server everything that it asks for:
 * - the password in clear text, or an MD5 hash that is as good as it, although an attacker can refuse TLS and
 *   pretend to be the server (`sslmode=prefer`, `allow`);
 * - the same once more at any time after the authentication;
 * - trust, although the server has not proved that it knows the password (no final message of SCRAM).
 *
 * To be called before `connect()`: listeners run in the order in which they were added, and a write after `destroy()` does
 * nothing. Messages in the same chunk as a refused one are still read, so `connect()` may succeed: call `assertAccepted`
 * then.
 */
export function guardAuthentication(
  client: PgClient,
  config: DatabaseConfig,
  { tls, local }: { readonly tls: boolean; readonly local: boolean },
): AuthenticationGuard {
  const { accepted, named } = parseRequireAuth(config.requireAuth)!;
  const { connection } = client;
  let asked: AuthMethod = "none";
  let mechanism = "";
  let proved = false;
  let authenticated = false;

  let refusal: AuthenticationRefused | null = null;

  const refuse = (message: string, needsTls = false): void => {
    refusal = new AuthenticationRefused(message, needsTls);
    connection.stream.destroy(refusal);
  };
  const accept = (method: AuthMethod): boolean => {
    if (authenticated) {
      refuse("the server asks for authentication again");
    } else if (!accepted.has(method)) {
      refuse(`${descriptions[method]}, which requireAuth (${config.requireAuth}) does not allow`);
    } else if (config.channelBinding === "require" && method !== "scram-sha-256") {
      refuse(`${descriptions[method]}, but channelBinding is 'require'`);
    } else {
      return true;
    }
    return false;
  };
  const acceptSecret = (method: AuthMethod, allowed: boolean): void => {
    asked = method;
    if (accept(method) && !allowed) refuse(`${descriptions[method]}, but the connection is not encrypted`, true);
  };
  const isPrivate = (): boolean => {
    const { remoteAddress } = connection.stream;
    return tls || local || (remoteAddress !== undefined && isLoopback(remoteAddress));
  };

  connection.on("authenticationCleartextPassword", () => acceptSecret("password", isPrivate()));
  connection.on("authenticationMD5Password", () => acceptSecret("md5", isPrivate() || named.has("md5")));
  connection.on("authenticationSASL", ({ mechanisms }) => {
    asked = "scram-sha-256";
    mechanism = tls && mechanisms.includes(boundMechanism) ? boundMechanism : "";
    if (accept(asked) && config.channelBinding === "require" && mechanism === "") {
      refuse(tls ? "the server offers no channel binding" : "channel binding needs TLS", !tls);
    }
  });
  connection.on("authenticationSASLFinal", () => (proved = true));
  connection.on("authenticationOk", () => {
    if (asked === "scram-sha-256" && !proved) refuse("the server did not prove that it knows the password");
    else if (asked === "none") accept("none");
    authenticated = true;
  });
  return {
    get method() {
      return asked;
    },
    assertAccepted() {
      if (refusal !== null) throw refusal;
    },
  };
}

const descriptions: Readonly<Record<AuthMethod, string>> = {
  none: "the server asks for no authentication",
  password: "the server asks for the password in clear text",
  md5: "the server asks for an MD5 hash of the password",
  "scram-sha-256": "the server asks for SCRAM",
};
