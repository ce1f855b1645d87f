import type { Host } from "../../feature/host.js";
import type { Request } from "../../http/request.js";
import type { McpOauthSettings } from "./config.js";

const wellKnown = "/.well-known/oauth-protected-resource";

/**
 * Publishes where clients get a token (RFC 9728), and names that place in the responses that ask for one. The token itself is
 * checked by the authentication of the application.
 */
export function addOauth(host: Host, path: string, oauth: McpOauthSettings): void {
  const { authorizationServers, resource, scopes } = oauth;
  const suffix = path === "/" ? "" : path;
  const metadata = (request: Request): object => ({
    resource: resource ?? new URL(path, request.url).href,
    authorization_servers: authorizationServers,
    bearer_methods_supported: ["header"],
    ...(scopes.length > 0 && { scopes_supported: scopes }),
  });
  // For all clients: one without a token reads it.
  for (const at of new Set([wellKnown, wellKnown + suffix]))
    host.route({ path: at, internal: true, handler: metadata });
  const challenge = (request: Request): string => {
    const scope = scopes.length > 0 ? `, scope="${scopes.join(" ")}"` : "";
    return `resource_metadata="${new URL(wellKnown + suffix, resource ?? request.url).href}"${scope}`;
  };
  host.use({
    name: "mcp-oauth",
    slot: "security-headers",
    early: true,
    after(request, response) {
      if (response.status !== 401) return;
      const given = response.headers.get("www-authenticate") ?? "";
      const bearer = /^Bearer\b/i.test(given) ? given : "Bearer";
      response.header("WWW-Authenticate", `${bearer}${bearer.includes("=") ? "," : ""} ${challenge(request)}`);
    },
    forRoute(route) {
      return route.pattern === path ? { after: this.after!.bind(this) } : null;
    },
  });
}
