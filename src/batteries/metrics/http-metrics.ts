import type { Request } from "../../http/request.js";
import type { BodyStream, Response } from "../../http/response.js";
import { isBodiless } from "../../http/status.js";
import type { Middleware, RouteInfo } from "../../pipeline/middleware.js";
import { Buckets, observe } from "./buckets.js";
import type { Family, Sample } from "./family.js";
import { label } from "./names.js";

export interface HttpMetricsOptions {
  /** First part of the names: `framework_http`. */
  readonly prefix: string;
  readonly durationBuckets: readonly number[];
  readonly sizeBuckets: readonly number[];
  /** Largest number of pairs of path and method with their own series. */
  readonly maxRoutes: number;
}

/** The path of requests without a route: their real paths come from clients and have no bound. */
const unmatched = "unmatched";
const wellKnown = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const lowestStatus = 100;

/** Counts requests. A request costs a few additions into typed arrays and two readings of the clock. */
export class HttpMetrics {
  readonly #options: HttpMetricsOptions;
  readonly #durations: Buckets;
  readonly #sizes: Buckets;
  readonly #records = new Map<string, RouteRecord>();
  #inFlight = 0;

  constructor(options: HttpMetricsOptions) {
    this.#options = options;
    this.#durations = new Buckets(options.durationBuckets);
    this.#sizes = new Buckets(options.sizeBuckets);
    // Unknown paths add no histogram, whenever they come.
    this.#record("GET", unmatched);
  }

  get middleware(): Middleware {
    return { name: "metrics", slot: "metrics", early: true, forRoute: (route) => this.#forRoute(route) };
  }

  collect(): Family[] {
    const { prefix } = this.#options;
    const records = [...this.#records.values()];
    return [
      {
        name: `${prefix}requests_total`,
        help: "Responses sent, by method, status and path of the route.",
        type: "counter",
        merge: "sum",
        samples: records.flatMap((record) => record.requestSamples()),
      },
      {
        name: `${prefix}request_duration_seconds`,
        help: "Time from a request's head to the end of its response, in seconds.",
        type: "histogram",
        merge: "sum",
        samples: records.flatMap(({ labels, durations }) => this.#durations.samples(labels, durations)),
      },
      {
        name: `${prefix}requests_in_flight`,
        help: "Requests in progress.",
        type: "gauge",
        merge: "sum",
        samples: [["", this.#inFlight]],
      },
      {
        name: `${prefix}response_size_bytes`,
        help: "Size of the bodies of responses as they were sent, in bytes.",
        type: "histogram",
        merge: "sum",
        samples: records.flatMap(({ labels, sizes }) => this.#sizes.samples(labels, sizes)),
      },
      {
        name: `${prefix}responses_aborted_total`,
        help: "Streamed responses that were not sent whole: the stream failed, or the client left.",
        type: "counter",
        merge: "sum",
        samples: records.flatMap(({ labels, aborted }): Sample[] => (aborted === 0 ? [] : [[`{${labels}}`, aborted]])),
      },
    ];
  }

  #forRoute(route: RouteInfo): Middleware | null {
    if (route.internal || route.options["metrics"] === false) return null;
    const usual = route.pattern === null || route.websocket ? "GET" : route.methods[0]!;
    let usualRecord: RouteRecord | null = null;
    const recordOf = (method: string): RouteRecord => {
      if (method !== usual) return this.#recordOf(route, method);
      return (usualRecord ??= this.#recordOf(route, usual));
    };
    return {
      before: (request) => {
        this.#inFlight++;
        if (request.startedAt === 0) request.startedAt = performance.now();
      },
      after: (request, response) => {
        const size = sizeNow(request, response);
        if (size === -1) response.body = this.#measured(request, response, recordOf(request.method));
        else this.#finished(request, response.status, size, recordOf(request.method));
      },
    };
  }

  #finished(request: Request, status: number, size: number, record: RouteRecord): void {
    this.#inFlight--;
    record.statuses[status - lowestStatus]!++;
    observe(this.#durations.bounds, record.durations, (performance.now() - request.startedAt) / 1000);
    observe(this.#sizes.bounds, record.sizes, size);
  }

  #measured(request: Request, response: Response, record: RouteRecord): MeasuredStream {
    const { status } = response;
    return new MeasuredStream(response.body as BodyStream, (size, whole) => {
      if (!whole) record.aborted++;
      this.#finished(request, status, size, record);
    });
  }

  #recordOf(route: RouteInfo, method: string): RouteRecord {
    if (route.pattern !== null) return this.#record(method, route.pattern);
    return this.#record(wellKnown.has(method) ? method : "OTHER", unmatched);
  }

  #record(method: string, path: string): RouteRecord {
    const key = `${method} ${path}`;
    const known = this.#records.get(key);
    if (known !== undefined) return known;
    if (this.#records.size >= this.#options.maxRoutes && path !== "other" && path !== unmatched) {
      return this.#record(method, "other");
    }
    const record = new RouteRecord(method, path, this.#durations, this.#sizes);
    this.#records.set(key, record);
    return record;
  }
}

/** The counts of one method of one route. */
class RouteRecord {
  readonly labels: string;
  readonly durations: Float64Array;
  readonly sizes: Float64Array;
  /** One place for each status there can be: no lookup, and 4 KB. */
  readonly statuses = new Float64Array(500);
  aborted = 0;
  readonly #method: string;
  readonly #path: string;

  constructor(method: string, path: string, durations: Buckets, sizes: Buckets) {
    this.#method = label("method", method);
    this.#path = label("path", path);
    this.labels = `${this.#method},${this.#path}`;
    this.durations = durations.createCounts();
    this.sizes = sizes.createCounts();
  }

  requestSamples(): Sample[] {
    const samples: Sample[] = [];
    this.statuses.forEach((count, i) => {
      if (count > 0) samples.push([`{${this.#method},status="${i + lowestStatus}",${this.#path}}`, count]);
    });
    return samples;
  }
}

/** The bytes that will be sent of a body; -1 where that is known only once they have been. */
function sizeNow(request: Request, response: Response): number {
  const body = response.body;
  if (body === null || request.method === "HEAD" || isBodiless(response.status)) return 0;
  if (typeof body === "string") return Buffer.byteLength(body);
  return body instanceof Uint8Array ? body.length : -1;
}

/** A body that reports once, when nothing more is read from it: the bytes that were read, and if that was the whole. */
class MeasuredStream implements AsyncIterableIterator<Uint8Array | string> {
  readonly #body: BodyStream;
  #onEnd: ((size: number, whole: boolean) => void) | null;
  #iterator: AsyncIterator<Uint8Array | string> | null = null;
  #size = 0;

  constructor(body: BodyStream, onEnd: (size: number, whole: boolean) => void) {
    this.#body = body;
    this.#onEnd = onEnd;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array | string>> {
    try {
      this.#iterator ??= this.#body[Symbol.asyncIterator]();
      const result = await this.#iterator.next();
      if (result.done) this.#end(true);
      else this.#size += typeof result.value === "string" ? Buffer.byteLength(result.value) : result.value.length;
      return result;
    } catch (error) {
      this.#end(false);
      throw error;
    }
  }

  async return(): Promise<IteratorResult<Uint8Array | string>> {
    this.#end(false);
    this.#iterator ??= this.#body[Symbol.asyncIterator]();
    await this.#iterator.return?.();
    return { done: true, value: undefined };
  }

  #end(whole: boolean): void {
    const tell = this.#onEnd;
    this.#onEnd = null;
    tell?.(this.#size, whole);
  }
}
