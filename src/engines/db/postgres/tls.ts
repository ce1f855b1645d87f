import { readFile } from "node:fs/promises";
import type { ConnectionOptions } from "node:tls";
import { ValueError } from "../../../kit/value-error.js";
import type { DatabaseConfig } from "../config.js";
import type { DatabaseServer } from "../url.js";

/** One way to connect; false is without TLS. */
export type Attempt = ConnectionOptions | false;

/**
 * The ways to connect that an sslmode allows, in order: libpq's table (PostgreSQL documentation, "SSL Support").
 * node-postgres by itself would take prefer and require for verify-full, and never fall back.
 */
export async function tlsAttempts(config: DatabaseConfig): Promise<readonly Attempt[]> {
  if (config.sslmode === "disable" || config.hosts.every(isUnixSocket)) return [false];
  const tls = await tlsOptions(config);
  if (config.sslmode === "allow") return [false, tls];
  return config.sslmode === "prefer" ? [tls, false] : [tls];
}

/** True for a host that is the folder of a Unix socket, which has no TLS. */
export function isUnixSocket({ host }: DatabaseServer): boolean {
  return host.startsWith("/");
}

async function tlsOptions(config: DatabaseConfig): Promise<ConnectionOptions> {
  const { sslmode, sslrootcert, sslcert, sslkey } = config;
  if (sslrootcert === "system" && sslmode !== "verify-full") {
    throw new ValueError("option 'sslrootcert' in DatabaseConfig can be 'system' with sslmode 'verify-full' only");
  }
  const options: ConnectionOptions = {};
  if (sslrootcert !== undefined && sslrootcert !== "system") options.ca = await readPem("sslrootcert", sslrootcert);
  if (sslcert !== undefined) options.cert = await readPem("sslcert", sslcert);
  if (sslkey !== undefined) options.key = await readPem("sslkey", sslkey);
  // As in libpq, require with a root certificate means verify-ca.
  const verifies = sslmode === "verify-full" || sslmode === "verify-ca" || (sslmode === "require" && options.ca);
  options.rejectUnauthorized = Boolean(verifies);
  if (sslmode !== "verify-full") options.checkServerIdentity = () => undefined;
  return options;
}

async function readPem(option: string, path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
    throw new ValueError(`option '${option}' in DatabaseConfig: ${path} cannot be read (${reason})`, { cause });
  }
}
