import { ValueError } from "../../kit/value-error.js";
import type { ListenAddress } from "../../server/transport.js";

export const defaultPort = 50_051;

/** Reads `[::]:50051`, `127.0.0.1:50051` or `:50051`. */
export function readAddress(owner: string, text: string): ListenAddress {
  const colon = text.lastIndexOf(":");
  const host = text.slice(0, Math.max(colon, 0));
  const port = text.slice(colon + 1);
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
  const plain = bare === host && host.includes(":");
  if (colon === -1 || plain || !/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new ValueError(
      `option 'address' in ${owner} must be host and port, such as "[::]:50051", not ${JSON.stringify(text)}`,
    );
  }
  return { host: bare === "" ? "::" : bare, port: Number(port) };
}

/**
 * The address if none was given. In development it has the host of `run`, as HTTP does: a service under construction, which
 * clients can ask for its definitions, is not for the network.
 */
export function defaultAddress(env: string, host: string | undefined): ListenAddress {
  return { host: env === "development" ? (host ?? "127.0.0.1") : "::", port: defaultPort };
}

export function showAddress({ host, port }: ListenAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
