import { parseJson } from "../../http/json/json.js";
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
  const limit = new TimeLimit(timeout);
  try {
    const response = await fetch(url, {
      redirect: "error",
      signal: limit.signal,
      headers: { Accept: "application/jwk-set+json, application/json" },
    });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new Error(`the status is ${response.status}`);
    }
    const set = parseJson(await readBounded(response, limit));
    if (!isPlainObject(set) || !Array.isArray(set["keys"])) throw new Error("the response is not a key set");
    if (set["keys"].length > maxKeys) throw new Error(`the key set has more than ${maxKeys} keys`);
    return { set: set as unknown as Jwks, maxAge: maxAgeOf(response.headers.get("cache-control")) };
  } finally {
    limit.end();
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>;

/**
 * Ends a request and the reading of its body in time. On Node 20 the signal alone does not: after a garbage collection it
 * no longer reaches the body.
 */
class TimeLimit {
  late = false;
  #reader: Reader | null = null;
  readonly #abort = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(milliseconds: number) {
    this.#timer = setTimeout(() => {
      this.late = true;
      this.#abort.abort(this.error());
      this.#reader?.cancel().catch(() => {});
    }, milliseconds);
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  error(): Error {
    return new Error(`the response did not come within ${timeout / 1000} seconds`);
  }

  reading(reader: Reader): void {
    this.#reader = reader;
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

async function readBounded(response: Response, limit: TimeLimit): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  if (response.body === null) return new Uint8Array();
  const reader = response.body.getReader() as Reader;
  limit.reading(reader);
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (limit.late) throw limit.error();
    if (done) return Buffer.concat(pieces);
    size += value.length;
    if (size > maxBytes) {
      await reader.cancel();
      throw new Error(`the response is larger than ${maxBytes} bytes`);
    }
    pieces.push(value);
  }
}

function maxAgeOf(header: string | null): number | undefined {
  const seconds = /(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,;])/i.exec(header ?? "")?.[1];
  return seconds === undefined ? undefined : Number(seconds);
}
