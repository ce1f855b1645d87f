import { ForbiddenError } from "../../errors/http-error.js";
import { AddressSet, plainAddress } from "../../http/addresses.js";
import type { Request } from "../../http/request.js";
import { addressOf, hostName, isLocalhost } from "../trusted-hosts/host-name.js";

// A page of another site can make a developer's browser request the live page and its events: by the address, which CORS
// may allow to all, or under a name of its own that leads to this machine (DNS rebinding).

/** Refuses requests of pages of another origin, even if CORS allows them. */
export function checkOrigin(request: Request): void {
  const origin = request.source.header("origin");
  if (origin !== undefined && !isOwn(origin, request))
    throw new ForbiddenError("The live page is not for other sites.");
}

/** Refuses requests of pages of another site, as reported by the browser. */
export function checkSite(request: Request): void {
  const site = request.source.header("sec-fetch-site");
  if (site !== undefined && site !== "same-origin" && site !== "none") {
    throw new ForbiddenError("The live page is not for other sites.");
  }
}

/**
 * Refuses hosts that are not local, and clients that are not near: the page is for the developer of the application. The
 * hosts that the developer has named are served to all clients.
 */
export function checkHost(request: Request, allowed: readonly string[]): void {
  const name = hostName(request.source.header("host") ?? "");
  if (name !== null && allowed.includes(name)) return;
  if (name !== null && isLocalHost(name) && isLocalClient(request)) return;
  throw new ForbiddenError(
    "The live page is for the machine that it runs on; enableLivePage({ hosts: [...] }) allows other hosts.",
  );
}

/** The scheme is left out of the comparison: a proxy in front may have changed it. */
function isOwn(origin: string, request: Request): boolean {
  const match = /^https?:\/\/([^/]+)$/i.exec(origin);
  return match !== null && match[1]!.toLowerCase() === request.source.header("host")?.toLowerCase();
}

function isLocalHost(name: string): boolean {
  if (isLocalhost(name)) return true;
  const address = addressOf(name);
  return address !== null && isNearby(address);
}

/** An address is absent under `fetch` and for a Unix socket. In a container, the client has a private address. */
function isLocalClient(request: Request): boolean {
  const { ip } = request;
  return ip === "" || isNearby(plainAddress(ip) ?? ip);
}

/** Made at the first use: to load what compares addresses would cost every start of an application. */
let nearby: AddressSet | undefined;

/** True for an address of this machine or of a private network. */
function isNearby(address: string): boolean {
  nearby ??= new AddressSet("", ["loopback", "private", "linklocal"]);
  return nearby.has(address);
}
