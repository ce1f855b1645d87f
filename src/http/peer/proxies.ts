import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { is, show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { RequestSource } from "../source.js";
import { AddressSet, plainAddress } from "./addresses.js";
import { type Forwarding, forwarded, xForwarded } from "./forwarded.js";

/** The trusted proxies: addresses, ranges and names of ranges; or the number of hops before this server. */
export type Proxies = string | readonly string[] | number;

/** The number of hops that are read; real chains of proxies are shorter. */
const maxHops = 32;

const trustProxyOptions = options(
  "trustProxy()",
  {
    /** The trusted proxies: addresses, ranges and names of ranges; or the number of hops before this server. */
    proxies: option.required<Proxies, Trust>(
      is.either<[string, number, readonly string[]]>(
        is.text,
        is.integer(1, maxHops),
        (value) => is.strings(value) ?? ((value as string[]).length > 0 ? undefined : "a list that is not empty"),
      ),
      trustOf,
    ),
    /**
     * The header that the proxies write. Only this one is read: a proxy passes on the other as the client sent it. Default
     * "x-forwarded-for".
     */
    header: option(is.oneOf("x-forwarded-for", "forwarded"), "x-forwarded-for"),
    /** Trusts the scheme that the proxies report. Default true. */
    proto: option(is.boolean, true),
    /** Trusts the host that the proxies report. Default true. */
    host: option(is.boolean, true),
  },
  { order: ["proxies"] },
);

export interface TrustProxyOptions extends OptionsOf<typeof trustProxyOptions.fields> {
  readonly proxies: Proxies;
}

const hostPattern = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/**
 * Determines the client's address and the requested host from the fields that trusted proxies wrote. The chain is read
 * from the end nearest to this server: the first hop that is not trusted is the client. Any client could have written the
 * items beyond it.
 */
export class TrustedProxies {
  readonly #settings: SettingsOf<typeof trustProxyOptions.fields>;
  #lastPeer: string | null = null;
  #lastList: string | undefined;
  #lastFound: Client | null = null;

  constructor(given: Proxies | TrustProxyOptions) {
    if (typeof given === "boolean") {
      throw new ValueError(
        `trustProxy() takes the proxies, not ${show(given)}: trust in all lets every client choose its own address`,
      );
    }
    this.#settings = trustProxyOptions.read([given]);
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
      const proto = this.#settings.proto ? written.proto(item)?.toLowerCase() : undefined;
      if (proto === "http" || proto === "https") scheme = proto;
      const asked = this.#settings.host ? written.host(item) : null;
      if (asked !== null && hostPattern.test(asked)) host = asked;
    }
    return `${scheme}://${host}`;
  }

  /** Reuses the last result: consecutive requests often come from one client through one proxy. */
  #client(source: RequestSource): Client {
    const list = source.header(this.#settings.header);
    const peer = source.remoteAddress;
    if (this.#lastFound !== null && peer === this.#lastPeer && list === this.#lastList) return this.#lastFound;
    this.#lastPeer = peer;
    this.#lastList = list;
    return (this.#lastFound = this.#find(source));
  }

  #find(source: RequestSource): Client {
    let address = plainAddress(source.remoteAddress) ?? source.remoteAddress;
    if (!this.#settings.proxies(address, 0)) return { address, behindProxy: false, item: 0 };
    const written = this.#written(source);
    let hop = 0;
    while (hop < maxHops) {
      const next = written.address(hop);
      if (next === null) break;
      address = next;
      hop++;
      if (!this.#settings.proxies(address, hop)) break;
    }
    return { address, behindProxy: true, item: Math.max(0, hop - 1) };
  }

  #written(source: RequestSource): Forwarding {
    return this.#settings.header === "forwarded" ? forwarded(source) : xForwarded(source);
  }
}

interface Client {
  readonly address: string;
  /** True if the peer is a trusted proxy. */
  readonly behindProxy: boolean;
  /** The index, from the end of a list, of the item written by the trusted hop nearest to the client. */
  readonly item: number;
}

type Trust = (address: string, hop: number) => boolean;

function trustOf(proxies: Proxies): Trust {
  if (typeof proxies === "number") return (_address, hop) => hop < proxies;
  const set = new AddressSet("trustProxy()", typeof proxies === "string" ? [proxies] : proxies);
  return (address) => set.has(address);
}
