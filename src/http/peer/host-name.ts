import { plainAddress } from "./addresses.js";
import { ipFamily } from "./ip-family.js";

const hostField = /^(?:\[([0-9a-f:.]+)\]|([^\s:/?#@[\]\\]+))(?::\d*)?$/i;

/** The name in a Host field: in lower case, without port, brackets and a last dot. Null if the field is malformed. */
export function hostName(field: string): string | null {
  const match = hostField.exec(field);
  if (match === null) return null;
  const name = (match[1] ?? match[2]!).toLowerCase();
  return (name.endsWith(".") ? name.slice(0, -1) : name) || null;
}

/** The address that a host is, as an `AddressSet` takes it; null if the host is a name. */
export function addressOf(name: string): string | null {
  return ipFamily(name) === 0 ? null : plainAddress(name);
}

/** True for `localhost` and the names below it, which lead to this machine (RFC 6761 section 6.3). */
export function isLocalhost(name: string): boolean {
  return name === "localhost" || name.endsWith(".localhost");
}

/**
 * True for a host that no stranger can make lead to this machine by the DNS: an address, a name of one label (a service
 * of Docker Compose), and names below the domains that are reserved for private use.
 */
export function isPrivateHost(name: string): boolean {
  return isLocalhost(name) || !name.includes(".") || addressOf(name) !== null || /\.(?:test|internal)$/.test(name);
}

/**
 * True if a page of this origin is of the host of the URL, which is that of a request. The scheme is ignored: a proxy may use
 * another one with the client than with this server.
 */
export function isSameHost(origin: string, url: string): boolean {
  try {
    const [page, own] = [new URL(origin), new URL(url)];
    // The default port depends on the scheme.
    own.protocol = page.protocol;
    return /^https?:$/.test(page.protocol) && page.origin === origin.toLowerCase() && page.host === own.host;
  } catch {
    return false;
  }
}
