import type { Host } from "../../feature/host.js";
import { derivedSource } from "../../http/derived-source.js";
import { Request } from "../../http/request.js";
import type { RequestSource } from "../../http/source.js";
import type { McpCall } from "./call.js";

/** The request of a call, as a route has it: from the arguments, in place of the message of the client. */
export interface CallTarget {
  readonly method: string;
  readonly path: string;
  readonly search?: string;
  /** Sent as JSON; undefined for none. */
  readonly body?: unknown;
}

/** Fields of the message to the endpoint that say nothing of the call. */
const ownFields =
  /^(?:accept|accept-encoding|connection|content-.*|expect|if-.*|last-event-id|mcp-.*|range|te|trailer|transfer-encoding|upgrade)$/;

/** Has the client, the credentials and the cookies of the request that brought the call. */
function callSource({ source, serverSpan }: Request, { method, path, search = "", body }: CallTarget): RequestSource {
  const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
  const fields = new Map<string, string>([["accept", "application/json, */*;q=0.5"]]);
  if (bytes !== null) fields.set("content-type", "application/json").set("content-length", String(bytes.length));
  // The span of the call is a child of that of the request.
  for (const [name, value] of Object.entries(serverSpan?.headers() ?? {})) fields.set(name, value);
  return {
    ...derivedSource(source, { method, path, search, bytes, without: ownFields, fields }),
    get clientCertificate() {
      return source.clientCertificate ?? null;
    },
  };
}

/** The request of a call of a route: it passes the whole pipeline of the route. Its `mcp` is the call. */
export function routeRequest(outer: Request, target: CallTarget, call: McpCall): Request {
  const request = new Request(callSource(outer, target));
  return Object.defineProperty(request, "mcp", { value: call });
}

/** The members of a call that are not those of the request that brought it. */
const ownMembers: ReadonlySet<PropertyKey> = new Set<keyof Request>([
  ..."source method path params paramNames paramValues query json text bytes bytesRead form stream parts".split(" "),
  ..."pattern error scope log logFields signal abort onAbort aborted onFinish hold finish".split(" "),
  ..."routeBodyLimit decompress bodyLimit mcp target".split(" "),
] as (keyof Request)[]);

/**
 * The request of a call inside of the request that brought it. It has its own arguments, log, signal and scope; everything
 * else is that of the outer one, which has passed the middleware: the user, the session, the context. `finish` ends it.
 */
export function innerRequest(
  outer: Request,
  target: CallTarget,
  call: McpCall,
): { readonly request: Request; readonly own: Request } {
  const own = routeRequest(outer, target, call);
  own.host = outer.host as Host;
  own.serverSpan = outer.serverSpan;
  Object.defineProperty(own, "id", { value: outer.id });
  const request = new Proxy(outer, {
    get(_, key) {
      const owner = ownMembers.has(key) ? own : outer;
      const value: unknown = Reflect.get(owner, key, owner);
      // Methods read private members, which a proxy does not have.
      return typeof value === "function" ? value.bind(owner) : value;
    },
    set(_, key, value) {
      const owner = ownMembers.has(key) ? own : outer;
      return Reflect.set(owner, key, value, owner);
    },
  });
  return { request, own };
}
