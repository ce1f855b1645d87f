import { parseJson } from "../../http/json.js";
import { isPlainObject } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import type { Jwks } from "./key-set.js";

/** Milliseconds for the whole response. */
const timeout = 5_000;
const maxBytes = 256 * 1024;
const maxKeys = 100;

export interface FetchedSet {
  readonly set: Jwks;
  /** Seconds for which the issuer lets others keep the set; undefined if it does not say. */
  readonly maxAge: number | undefined;
}

/** The address of a key set; null for the path of a file. Throws if the address is not safe. */
export function jwksAddress(given: string | URL): URL | null {
  const text = String(given);
  if (!/^https?:/i.test(text)) return null;
  if (!URL.canParse(text)) throw new ValueError(`option 'jwks' in JwtConfig is not a valid address: ${text}`);
  const url = new URL(text);
  const isLocal = /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  // Who can change the response on its way can sign tokens.
  if (url.protocol !== "https:" && !isLocal) {
    throw new ValueError("option 'jwks' in JwtConfig must be an https address, or http on this machine");
  }
  if (url.username || url.password) throw new ValueError("option 'jwks' in JwtConfig must not hold a password");
  return url;
}

/** Gets a key set. Redirects are not followed; size, time and number of keys are limited. */
export async function fetchJwks(url: URL): Promise<FetchedSet> {
  const response = await fetch(url, {
    redirect: "error",
    signal: AbortSignal.timeout(timeout),
    headers: { Accept: "application/jwk-set+json, application/json" },
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the status is ${response.status}`);
  }
  const set = parseJson(await readBounded(response));
  if (!isPlainObject(set) || !Array.isArray(set["keys"])) throw new Error("the response is not a key set");
  if (set["keys"].length > maxKeys) throw new Error(`the key set has more than ${maxKeys} keys`);
  return { set: set as unknown as Jwks, maxAge: maxAgeOf(response.headers.get("cache-control")) };
}

async function readBounded(response: Response): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response.body ?? []) {
    size += piece.length;
    // Leaving the loop cancels the rest.
    if (size > maxBytes) throw new Error(`the response is larger than ${maxBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function maxAgeOf(header: string | null): number | undefined {
  const seconds = /(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,;])/i.exec(header ?? "")?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}
