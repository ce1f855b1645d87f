import type { Request } from "../../http/request.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { boundedText } from "./bounded-text.js";

/**
 * The key of a response: method, scheme, host, path and query. Query parameters are sorted by name, those of one name
 * stay in their order, and escapes are written in one way (RFC 3986 section 6.2.2). No part can hold the line break
 * between them. `owner` separates the responses of one client from those of others, `body` those to
 * different bodies.
 */
export function cacheKey(method: string, request: Request, owner = "", body = ""): string {
  const { search } = request.source;
  const query = search === "" ? "" : sortedQuery(search.slice(1));
  return boundedText(`${method}\n${originOf(request)}\n${normalized(request.path)}\n${query}\n${owner}\n${body}`);
}

/** The tag of all responses of one address, with any query; `\n` separates it from the tags of users. */
export function addressTag(origin: string, path: string): string {
  return boundedText(`\n${origin.slice(origin.indexOf("//"))}${normalized(path)}`);
}

/** Scheme and host as the application sees them. */
export function originOf(request: Request): string {
  const trusted = request.host?.originOf?.(request);
  if (trusted !== undefined) return trusted.toLowerCase();
  const host = request.source.header("host");
  return `${request.source.secure ? "https" : "http"}://${host === undefined ? "" : host.toLowerCase()}`;
}

/** The client's identity, in a form that neither reveals a secret nor grows with it. */
export function ownerOf(request: Request): string {
  const { source } = request;
  const context = request.hasContext ? request.context : undefined;
  const parts = [
    source.header("authorization"),
    source.header("cookie"),
    context?.user,
    context?.api_key_name,
    context?.jwt_claims,
  ];
  return nodeCrypto()
    .createHash("sha256")
    .update(JSON.stringify(parts.map((part) => part ?? null)))
    .digest("base64");
}

/** A digest of a request's body and its type. */
export function bodyDigest(request: Request, bytes: Uint8Array): string {
  const type = request.source.header("content-type") ?? "";
  return nodeCrypto().createHash("sha256").update(`${type}\n`, "utf8").update(bytes).digest("base64");
}

function sortedQuery(query: string): string {
  if (!query.includes("&")) return normalized(query);
  const pairs = normalized(query)
    .split("&")
    .filter((pair) => pair !== "");
  // The sort is stable: parameters of one name stay in their order.
  return pairs
    .map((pair) => ({ pair, name: nameOf(pair) }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    .map(({ pair }) => pair)
    .join("&");
}

function nameOf(pair: string): string {
  const equals = pair.indexOf("=");
  return equals === -1 ? pair : pair.slice(0, equals);
}

function normalized(text: string): string {
  return text.includes("%") ? text.replace(/%[0-9a-f]{2}/gi, oneWay) : text;
}

function oneWay(escaped: string): string {
  const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : escaped.toUpperCase();
}
