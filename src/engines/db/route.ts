import type { AuthMethod } from "./require-auth.js";

/**
 * The way of a connection that was opened, as plain values that another thread can take. The thread accepts the same server, the
 * same kind of transport and the same way of authentication, and nothing else.
 */
export interface ConnectionRoute {
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly database: string | undefined;
  readonly applicationName: string;
  /** Options of TLS; false without it. */
  readonly ssl: Readonly<Record<string, unknown>> | false;
  /** True if the name in the certificate is checked. */
  readonly checksName: boolean;
  readonly method: AuthMethod;
  /** True if SCRAM may be bound to the channel of TLS. */
  readonly bindsChannel: boolean;
}
