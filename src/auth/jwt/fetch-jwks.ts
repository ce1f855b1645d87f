import { parseJson } from "../../http/json/json.js";
import { boundedFetch } from "../../kit/bounded-fetch.js";
import { isPlainObject } from "../../kit/options.js";
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

/** Gets a key set. Redirects are not followed; size, time and number of keys are limited. */
export async function fetchJwks(url: URL): Promise<FetchedSet> {
  const headers = { Accept: "application/jwk-set+json, application/json" };
  const response = await boundedFetch(url, { headers }, { timeout, maxBytes });
  if (response.status !== 200) throw new Error(`the status is ${response.status}`);
  const set = parseJson(response.body);
  if (!isPlainObject(set) || !Array.isArray(set["keys"])) throw new Error("the response is not a key set");
  if (set["keys"].length > maxKeys) throw new Error(`the key set has more than ${maxKeys} keys`);
  return { set: set as unknown as Jwks, maxAge: maxAgeOf(response.headers.get("cache-control")) };
}

function maxAgeOf(header: string | null): number | undefined {
  const seconds = /(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,;])/i.exec(header ?? "")?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}
