const defaultPorts: Record<string, string> = { http: ":80", https: ":443" };

/** An absolute request target: scheme, authority and the rest. */
const absoluteTarget = /^(https?):\/\/([^/?]+)(.*)$/is;

/**
 * The path and query of an absolute request target, or null if it is none or names another host than the Host field
 * (RFC 9112 section 3.2.2). Case does not matter, nor does the default port of the scheme.
 */
export function originForm(target: string, host: string | undefined): string | null {
  const [, scheme, authority, rest] = absoluteTarget.exec(target) ?? [];
  if (scheme === undefined || authority === undefined || rest === undefined || host === undefined) return null;
  if (!isSameAuthority(authority, host, scheme)) return null;
  return rest.startsWith("/") ? rest : `/${rest}`;
}

/** True if both name the same host and port. `scheme` is http or https. */
export function isSameAuthority(one: string, other: string, scheme: string): boolean {
  const port = defaultPorts[scheme.toLowerCase()]!;
  return withoutPort(one, port) === withoutPort(other, port);
}

/** The authority in lower case, without this port or an empty one. */
function withoutPort(authority: string, port: string): string {
  const lower = authority.toLowerCase();
  if (lower.endsWith(port)) return lower.slice(0, -port.length);
  return lower.endsWith(":") ? lower.slice(0, -1) : lower;
}
