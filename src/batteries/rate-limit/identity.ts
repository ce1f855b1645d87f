import { plainAddress } from "../../http/peer/addresses.js";
import type { Request } from "../../http/request.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { ownCopy } from "../../kit/own-copy.js";

const maxLength = 64;

/** A key of bounded length: a long one is hashed, so that memory does not grow with what clients send. */
export function boundedKey(key: string): string {
  return key.length <= maxLength ? key : nodeCrypto().createHash("sha256").update(key, "utf16le").digest("base64");
}

/** Makes the keys of clients by their addresses; those of IPv6 by the first `prefix` bits. */
export function addressKeys(prefix: number): (request: Request) => string {
  const known = new Map<string, string>();
  return (request) => {
    const address = request.ip;
    if (!address.includes(":")) return boundedKey(address);
    let key = known.get(address);
    if (key === undefined) {
      key = boundedKey(networkOf(address, prefix));
      if (address.length > maxLength) return key;
      if (known.size >= 1000) known.clear();
      known.set(ownCopy(address), key);
    }
    return key;
  };
}

/** An IPv6 client can choose its addresses from a whole /64 or more, so its network is counted. */
export function networkOf(address: string, prefix = 64): string {
  const plain = plainAddress(address);
  if (plain === null || !plain.includes(":")) return plain ?? address;
  const [before = "", after] = plain.split("::");
  const groups = before === "" ? [] : before.split(":");
  if (after !== undefined) {
    const last = after === "" ? [] : after.split(":");
    const length = last.length + (after.includes(".") ? 1 : 0);
    while (groups.length + length < 8) groups.push("0");
    groups.push(...last);
  }
  const network = groups.slice(0, Math.ceil(prefix / 16)).map((group, i) => masked(group, prefix - i * 16));
  return `${network.join(":")}::/${prefix}`;
}

/** The first `bits` of a group of 16. The last group of some addresses is one of IPv4, of 32. */
function masked(group: string, bits: number): string {
  if (group.includes(".")) return group;
  const value = Number.parseInt(group, 16);
  return (bits >= 16 ? value : value & (0xffff << (16 - bits))).toString(16);
}
