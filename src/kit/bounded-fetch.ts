export interface FetchLimits {
  /** Milliseconds for the whole response. */
  readonly timeout: number;
  readonly maxBytes: number;
}

export interface FetchedResponse {
  readonly status: number;
  readonly headers: Headers;
  /** Of an error that is longer than `maxBytes`, its beginning. */
  readonly body: Uint8Array;
}

/** Fetches a response whole, within limits of time and size. Redirects are not followed. */
export async function boundedFetch(url: URL, init: RequestInit, limits: FetchLimits): Promise<FetchedResponse> {
  const limit = new TimeLimit(limits.timeout);
  try {
    const response = await fetch(url, { ...init, redirect: "error", signal: limit.signal });
    const { status, headers } = response;
    return { status, headers, body: await readBounded(response, limit, limits.maxBytes) };
  } catch (error) {
    throw limit.late ? limit.error() : error;
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

  constructor(private readonly milliseconds: number) {
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
    return new Error(`the response did not come within ${this.milliseconds / 1000} seconds`);
  }

  reading(reader: Reader): void {
    this.#reader = reader;
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

async function readBounded(response: Response, limit: TimeLimit, maxBytes: number): Promise<Uint8Array> {
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
      if (!response.ok) return Buffer.concat(pieces);
      throw new Error(`the response is larger than ${maxBytes} bytes`);
    }
    pieces.push(value);
  }
}
