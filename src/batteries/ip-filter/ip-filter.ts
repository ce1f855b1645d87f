import { httpError } from "../../errors/http-error.js";
import { AddressSet, plainAddress } from "../../http/addresses.js";
import type { Request } from "../../http/request.js";
import { type Checks, is, readOptions } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import type { Middleware } from "../../pipeline/middleware.js";

export interface IpFilterOptions {
  /** Clients to let in; all others are refused: addresses, ranges in CIDR notation, "loopback", "private", ... */
  readonly allow?: readonly string[];
  /** Clients to refuse, even if `allow` names them too. */
  readonly deny?: readonly string[];
}

/**
 * Refuses clients by their address, `request.ip`, with 403. `app.use(ipFilter(...))` stands before everything that
 * belongs to users, and before health probes and the live page.
 */
export function ipFilter(options: IpFilterOptions): Middleware {
  const given = readOptions("ipFilter", options, checks);
  if (given.allow === undefined && given.deny === undefined) throw new ValueError("ipFilter needs allow or deny");
  const allow = given.allow && new AddressSet("ipFilter", given.allow);
  const deny = given.deny && new AddressSet("ipFilter", given.deny);
  return {
    name: "ip-filter",
    // Before the routes of operators too: health probes and the live page have no other protection by address.
    slot: "ip-filter",
    early: true,
    before(request: Request) {
      const { ip } = request;
      const address = plainAddress(ip) ?? ip;
      if (deny?.has(address) || (allow && !allow.has(address))) throw httpError("FORBIDDEN");
    },
  };
}

const checks: Checks<IpFilterOptions> = { allow: is.strings, deny: is.strings };
