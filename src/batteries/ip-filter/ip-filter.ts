import { httpError } from "../../errors/http-error.js";
import { AddressSet, plainAddress } from "../../http/peer/addresses.js";
import type { Request } from "../../http/request.js";
import { type OptionsOf, option, options } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { Middleware } from "../../pipeline/middleware.js";

const ipFilterOptions = options(
  "ipFilter",
  {
    /** Clients to let in; all others are refused: addresses, ranges in CIDR notation, "loopback", "private", ... */
    allow: option.made(is.strings, readAddresses, null),
    /** Clients to refuse, even if `allow` names them too. */
    deny: option.made(is.strings, readAddresses, null),
  },
  {
    refine({ allow, deny }) {
      if (allow === null && deny === null) throw new ValueError("ipFilter needs allow or deny");
    },
  },
);

export interface IpFilterOptions extends OptionsOf<typeof ipFilterOptions.fields> {}

/**
 * Refuses clients by their address, `request.ip`, with 403. `app.use(ipFilter(...))` stands before everything that
 * belongs to users, and before health probes and the live page.
 */
export function ipFilter(options: IpFilterOptions): Middleware {
  const { allow, deny } = ipFilterOptions.read([options]);
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

function readAddresses(addresses: readonly string[]): AddressSet | null {
  return new AddressSet("ipFilter", addresses);
}
