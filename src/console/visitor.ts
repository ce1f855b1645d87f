import { ForbiddenError } from "../errors/http-error.js";
import { AddressSet, plainAddress } from "../http/peer/addresses.js";
import { addressOf, hostName, isLocalhost } from "../http/peer/host-name.js";
import type { Request } from "../http/request.js";
import type { ConsoleSection } from "./section.js";

// A page of another site can make an operator's browser request the console and its data: by the address, which CORS may
// allow to all, or under its own name that leads to this machine (DNS rebinding).

/** Refuses requests of pages of another origin, even if CORS allows them, and without guards clients of other machines. */
export function checkVisitor(request: Request, { guards = [], hosts }: Pick<ConsoleSection, "guards" | "hosts">): void {
  if (hosts !== undefined || guards.length === 0) checkMachine(request, hosts);
  const origin = request.source.header("origin");
  if (origin !== undefined && !isOwn(origin, request)) throw new ForbiddenError("The console is not for other sites.");
}

/** Refuses requests of pages of another site, as reported by the browser. A link to a page of the console is allowed. */
export function checkSite(request: Request): void {
  const site = request.source.header("sec-fetch-site");
  if (site !== undefined && site !== "same-origin" && site !== "none") {
    throw new ForbiddenError("The console is not for other sites.");
  }
}

/** Of these each proxy sends one or the other. */
const proxyFields = ["x-forwarded-for", "x-forwarded-host", "forwarded", "x-real-ip", "via"];

/**
 * Refuses all clients but those of the same machine, except under the hosts that the developer has named. A request of a
 * proxy comes from this machine, whichever client sent it, and the address that it was forwarded for may be the client's own
 * invention. An address is absent under `fetch` and for a Unix socket.
 */
function checkMachine(request: Request, hosts: readonly string[] = []): void {
  const name = hostName(request.source.header("host") ?? "");
  if (name !== null && hosts.includes(name)) return;
  const { remoteAddress } = request.source;
  const isOwn = remoteAddress === "" || loopback(plainAddress(remoteAddress) ?? remoteAddress);
  const forwarded = proxyFields.some((field) => request.source.header(field) !== undefined);
  if (name !== null && isLocalHost(name) && isOwn && !forwarded) return;
  throw new ForbiddenError(
    "This page is for the machine that it runs on; guards, or enableLivePage({ hosts: [...] }), allow others.",
  );
}

/** The scheme is left out of the comparison: a proxy in front may have changed it. */
function isOwn(origin: string, request: Request): boolean {
  const match = /^https?:\/\/([^/]+)$/i.exec(origin);
  return match !== null && match[1]!.toLowerCase() === request.source.header("host")?.toLowerCase();
}

function isLocalHost(name: string): boolean {
  const address = addressOf(name);
  return isLocalhost(name) || (address !== null && near(address));
}

const loopback = within(["loopback"]);
/** True for an address of this machine or of a private network. */
const near = within(["loopback", "private", "linklocal"]);

/** The set is made at the first use: to load what compares addresses would cost every start of an application. */
function within(ranges: readonly string[]): (address: string) => boolean {
  let set: AddressSet | undefined;
  return (address) => (set ??= new AddressSet("", ranges)).has(address);
}
