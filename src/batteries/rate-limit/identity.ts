import { plainAddress } from "../../http/addresses.js";
import type { Request } from "../../http/request.js";
import { nodeCrypto } from "../../internal/node-modules.js";
import { ownCopy } from "../../internal/own-copy.js";

const maxLength = 64;

/** A key of bounded length: a long one is hashed, so that memory does not grow with what clients send. */
export function boundedKey(key: string): string {
  return key.length <= maxLength ? key : nodeCrypto().createHash("sha256").update(key, "utf16le").digest("base64");
}

/** The key of a client by its address. */
export function addressKey(request: Request): string {
  const address = request.ip;
  if (!address.includes(":")) return boundedKey(address);
  let key = known.get(address);
  if (key === undefined) {
    key = boundedKey(networkOf(address));
    if (address.length > maxLength) return key;
    if (known.size >= 1000) known.clear();
    known.set(ownCopy(address), key);
  }
  return key;
}

const known = new Map<string, string>();

/** An IPv6 client can choose its addresses from a whole /64, so its network is counted. */
export function networkOf(address: string): string {
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
  const network = groups.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ""));
  return `${network.join(":")}::/64`;
}
