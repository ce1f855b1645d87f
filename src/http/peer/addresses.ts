import net from "node:net";
import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { ipFamily } from "./ip-family.js";

/** Ranges that have a name. "unix" is a peer without an address: one that came through a Unix socket. */
const named: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.0/8", "::1/128"],
  linklocal: ["169.254.0.0/16", "fe80::/10"],
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
  unix: [],
};

/** The number of cached results: a lookup takes a fraction of the time of a BlockList check. */
const maxKnown = 1000;

/** A set of addresses: single ones, ranges in CIDR notation, and ranges by name. */
export class AddressSet {
  readonly #list = new net.BlockList();
  readonly #known = new Map<string, boolean>();
  #unix = false;

  constructor(owner: string, entries: readonly string[]) {
    for (const entry of entries) {
      if (entry === "unix") this.#unix = true;
      for (const range of Object.hasOwn(named, entry) ? named[entry]! : [entry]) this.#add(owner, range);
    }
  }

  /** Takes an address as `plainAddress` gives it; an empty one is that of a Unix socket. */
  has(address: string): boolean {
    if (address === "") return this.#unix;
    let answer = this.#known.get(address);
    if (answer === undefined) {
      const family = ipFamily(address);
      answer = family !== 0 && this.#list.check(address, family === 6 ? "ipv6" : "ipv4");
      if (this.#known.size >= maxKnown) this.#known.clear();
      this.#known.set(address, answer);
    }
    return answer;
  }

  #add(owner: string, entry: unknown): void {
    const [address = "", length, ...rest] = typeof entry === "string" ? entry.split("/") : [];
    const family = ipFamily(address);
    const bits = family === 6 ? 128 : 32;
    const sound =
      family !== 0 &&
      rest.length === 0 &&
      (length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= bits)) &&
      plainAddress(address) === address.toLowerCase();
    if (!sound) {
      const names = Object.keys(named).join(", ");
      throw new ValueError(`${show(entry)} in ${owner} is not an address, a range like 10.0.0.0/8, or one of ${names}`);
    }
    const kind = family === 6 ? "ipv6" : "ipv4";
    if (length === undefined) this.#list.addAddress(address, kind);
    else this.#list.addSubnet(address, Number(length), kind);
  }
}

const mapped = /^(?:::|0{1,4}(?::0{1,4}){4}:)ffff:(.+)$/i;

/**
 * An address in the form used for comparison: IPv4 as such even if a dual-stack socket reports it inside IPv6, no zone,
 * lower case. Null if the text is no address.
 */
export function plainAddress(text: string): string | null {
  const family = ipFamily(text);
  if (family === 4) return text;
  if (family === 0) return null;
  const zone = text.indexOf("%");
  const address = (zone === -1 ? text : text.slice(0, zone)).toLowerCase();
  const inner = mapped.exec(address)?.[1];
  if (inner === undefined) return address;
  return ipFamily(inner) === 4 ? inner : dotted(inner);
}

/** `102:304` as `1.2.3.4`. */
function dotted(groups: string): string {
  const [high = 0, low = 0] = groups.split(":").map((group) => Number.parseInt(group, 16));
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
}
