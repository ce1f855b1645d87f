import { httpError } from "../../errors/http-error.js";
import { withoutStack } from "../../errors/without-stack.js";
import { AddressSet } from "../../http/peer/addresses.js";
import { addressOf, hostName, isPrivateHost } from "../../http/peer/host-name.js";
import type { Request } from "../../http/request.js";
import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { Middleware } from "../../pipeline/middleware.js";

/** Checks the name in a Host field. */
export type HostCheck = (name: string) => boolean;

const hostPattern = /^(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$/;
const addresses = /^(?:loopback|private|linklocal|[\d.]+(?:\/\d+)?|\[?[0-9a-f:.]*:[0-9a-f:.]*\]?(?:\/\d+)?)$/;

/** Reads the hosts that `trustedHosts` was called with. */
export function readHosts(given: unknown): HostCheck {
  const list: unknown[] = Array.isArray(given) ? given : [given];
  if (list.length === 0) throw new ValueError("trustedHosts() takes one host at least");
  const names = new Set<string>();
  const below: string[] = [];
  const ranges: string[] = [];
  for (const item of list) {
    if (item === "*") return () => true;
    const host = typeof item === "string" ? item.toLowerCase().replace(/\.$/, "") : "";
    if (addresses.test(host)) ranges.push(host.replace(/[[\]]/g, ""));
    else if (!hostPattern.test(host)) throw new ValueError(wrongHost(item));
    else if (host.startsWith("*.")) below.push(host.slice(1));
    else names.add(host);
  }
  const set = new AddressSet("trustedHosts()", ranges);
  return (name) => {
    if (names.has(name) || below.some((ending) => name.endsWith(ending))) return true;
    const address = addressOf(name);
    return address !== null && set.has(address);
  };
}

function wrongHost(item: unknown): string {
  return `trustedHosts() takes names without scheme and port such as "example.com" or "*.example.com", addresses and ranges, not ${show(item)}`;
}

/**
 * Refuses requests whose Host is not one of the application's: with 421, because the request reached a server that is
 * not responsible for that host (RFC 9110 section 15.5.20), and with 400 if the field is absent or malformed (RFC 9112
 * section 3.2). `hint` shows a developer the remedy. Routes for operators are exempt: probes use an address as the
 * host, and the live page has its own stricter check.
 */
export function trustedHosts(isTrusted: HostCheck, hint: string): Middleware {
  const before = (request: Request): void => {
    const name = hostName(hostOf(request));
    if (name === null) throw withoutStack(() => httpError("BAD_REQUEST", "The Host field is missing or malformed."));
    if (isTrusted(name)) return;
    throw withoutStack(() => httpError("MISDIRECTED_REQUEST", `This host is not served here.${hint}`));
  };
  return {
    name: "trusted-hosts",
    slot: "trusted-hosts",
    early: true,
    forRoute: (route) => (route.internal ? null : { before }),
  };
}

/** The check of a server in development: what is configured, and hosts that no stranger can make lead here. */
export function orPrivate(configured: HostCheck | null, bound: string | undefined): HostCheck {
  const own = bound?.toLowerCase();
  return (name) => isPrivateHost(name) || name === own || configured?.(name) === true;
}

/** The host as the client knows it: the proxy's word counts where one is trusted. */
function hostOf(request: Request): string {
  const origin = request.host?.originOf?.(request);
  return origin === undefined ? (request.source.header("host") ?? "") : origin.slice(origin.indexOf("//") + 2);
}
