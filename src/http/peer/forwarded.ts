import type { RequestSource } from "../source.js";
import { plainAddress } from "./addresses.js";

/** The fields that the hops between the client and this server wrote, the nearest hop last. */
export interface Forwarding {
  /** The address that the `n`th hop from the end saw, counted from 0; null when there is none, or no address. */
  address(n: number): string | null;
  proto(n: number): string | null;
  host(n: number): string | null;
}

/** X-Forwarded-For, -Proto and -Host. The latter two may have fewer items than there were hops. */
export function xForwarded(source: RequestSource): Forwarding {
  return {
    address: (n) => hopAddress(fromEnd(source.header("x-forwarded-for"), n)),
    proto: (n) => nearest(source.header("x-forwarded-proto"), n),
    host: (n) => nearest(source.header("x-forwarded-host"), n),
  };
}

/** Forwarded (RFC 7239). A malformed field is ignored. */
export function forwarded(source: RequestSource): Forwarding {
  const elements = parse(source.header("forwarded") ?? "") ?? [];
  const at = (n: number): Map<string, string> | undefined => elements[elements.length - 1 - n];
  return {
    address: (n) => hopAddress(at(n)?.get("for") ?? null),
    proto: (n) => at(n)?.get("proto") ?? null,
    host: (n) => at(n)?.get("host") ?? null,
  };
}

/** The `n`th item from the end of a list with commas. Not split: a list may be long, and the end is what counts. */
function fromEnd(list: string | undefined, n: number): string | null {
  if (list === undefined) return null;
  let end = list.length;
  for (let i = 0; ; i++) {
    const comma = end === 0 ? -1 : list.lastIndexOf(",", end - 1);
    if (i === n) return list.slice(comma + 1, end).trim();
    if (comma === -1) return null;
    end = comma;
  }
}

/** The `n`th item from the end, or the first where there are fewer. */
function nearest(list: string | undefined, n: number): string | null {
  for (let i = n; i >= 0; i--) {
    const item = fromEnd(list, i);
    if (item !== null) return item;
  }
  return null;
}

const withPort = /^(?:\[([^\]]+)\](?::\d{1,5})?|(\d+\.\d+\.\d+\.\d+):\d{1,5})$/;

/** Some proxies add the port. "unknown" and names that hide an address (RFC 7239 section 6.3) give null. */
function hopAddress(text: string | null): string | null {
  if (text === null) return null;
  const match = withPort.exec(text);
  return plainAddress(match ? (match[1] ?? match[2])! : text);
}

const pair =
  /[ \t]*([!#$%&'*+\-.^_`|~0-9A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+\-.^_`|~0-9A-Za-z]+))[ \t]*([;,]|$)/y;

function parse(value: string): Map<string, string>[] | null {
  const elements: Map<string, string>[] = [new Map()];
  pair.lastIndex = 0;
  while (pair.lastIndex < value.length) {
    const match = pair.exec(value);
    if (!match) return null;
    const [, name = "", quoted, plain, end] = match;
    elements[elements.length - 1]!.set(name.toLowerCase(), quoted?.replace(/\\(.)/g, "$1") ?? plain!);
    if (end === ",") elements.push(new Map());
  }
  return elements;
}
