import { type Checks, is, readOptions, required, show } from "../internal/options.js";
import { ValueError } from "../internal/value-error.js";
import { AddressSet, plainAddress } from "./addresses.js";
import { type Forwarding, forwarded, xForwarded } from "./forwarded.js";
import type { RequestSource } from "./source.js";

/** The trusted proxies: addresses, ranges and names of ranges; or the number of hops before this server. */
export type Proxies = string | readonly string[] | number;

export interface TrustProxyOptions {
  /** The trusted proxies: addresses, ranges and names of ranges; or the number of hops before this server. */
  readonly proxies: Proxies;
  /** The header that the proxies write. Only this one is read: a proxy passes on the other as the client sent it. */
  readonly header?: "x-forwarded-for" | "forwarded";
  /** Trusts the scheme that the proxies report. Default true. */
  readonly proto?: boolean;
  /** Trusts the host that the proxies report. Default true. */
  readonly host?: boolean;
}

/** The number of hops that are read; real chains of proxies are shorter. */
const maxHops = 32;
const hostPattern = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/**
 * Determines the client's address and the requested host from the fields that trusted proxies wrote. The chain is read
 * from the end nearest to this server: the first hop that is not trusted is the client. Anybody could have written the
 * items beyond it.
 */
export class TrustedProxies {
  readonly #trusts: (address: string, hop: number) => boolean;
  readonly #options: Partial<TrustProxyOptions>;
  #lastPeer: string | null = null;
  #lastList: string | undefined;
  #lastFound: Client | null = null;

  constructor(given: Proxies | TrustProxyOptions) {
    this.#options = read(given);
    this.#trusts = trustOf(required("trustProxy()", this.#options, "proxies"));
  }

  address(source: RequestSource): string {
    return this.#client(source).address;
  }

  /** Scheme and host as the client sees them. */
  origin(source: RequestSource): string {
    let scheme = source.secure ? "https" : "http";
    let host = source.header("host") ?? "localhost";
    const { behindProxy, item } = this.#client(source);
    if (behindProxy) {
      const written = this.#written(source);
      const proto = this.#options.proto === false ? undefined : written.proto(item)?.toLowerCase();
      if (proto === "http" || proto === "https") scheme = proto;
      const asked = this.#options.host === false ? null : written.host(item);
      if (asked !== null && hostPattern.test(asked)) host = asked;
    }
    return `${scheme}://${host}`;
  }

  /** Reuses the last result: consecutive requests often come from one client through one proxy. */
  #client(source: RequestSource): Client {
    const list = source.header(this.#options.header ?? "x-forwarded-for");
    const peer = source.remoteAddress;
    if (this.#lastFound !== null && peer === this.#lastPeer && list === this.#lastList) return this.#lastFound;
    this.#lastPeer = peer;
    this.#lastList = list;
    return (this.#lastFound = this.#find(source));
  }

  #find(source: RequestSource): Client {
    let address = plainAddress(source.remoteAddress) ?? source.remoteAddress;
    if (!this.#trusts(address, 0)) return { address, behindProxy: false, item: 0 };
    const written = this.#written(source);
    let hop = 0;
    while (hop < maxHops) {
      const next = written.address(hop);
      if (next === null) break;
      address = next;
      hop++;
      if (!this.#trusts(address, hop)) break;
    }
    return { address, behindProxy: true, item: Math.max(0, hop - 1) };
  }

  #written(source: RequestSource): Forwarding {
    return this.#options.header === "forwarded" ? forwarded(source) : xForwarded(source);
  }
}

interface Client {
  readonly address: string;
  /** True if the peer is a trusted proxy. */
  readonly behindProxy: boolean;
  /** The index, from the end of a list, of the item written by the trusted hop nearest to the client. */
  readonly item: number;
}

function trustOf(proxies: Proxies): (address: string, hop: number) => boolean {
  if (typeof proxies === "number") return (_address, hop) => hop < proxies;
  const set = new AddressSet("trustProxy()", typeof proxies === "string" ? [proxies] : proxies);
  return (address) => set.has(address);
}

function read(given: Proxies | TrustProxyOptions): Partial<TrustProxyOptions> {
  if (typeof given === "boolean") {
    throw new ValueError(
      `trustProxy() takes the proxies, not ${show(given)}: whoever trusts all lets every client choose its own address`,
    );
  }
  const isOptions = typeof given === "object" && !Array.isArray(given);
  return readOptions("trustProxy()", isOptions ? given : { proxies: given }, checks);
}

const checks: Checks<TrustProxyOptions> = {
  proxies: is.either(
    is.text,
    is.integer(1, maxHops),
    (value) => is.strings(value) ?? ((value as string[]).length > 0 ? undefined : "a list that is not empty"),
  ),
  header: is.oneOf("x-forwarded-for", "forwarded"),
  proto: is.boolean,
  host: is.boolean,
};
