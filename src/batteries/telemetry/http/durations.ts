import { Buckets, observe } from "../../metrics/buckets.js";
import type { Metric } from "../metrics/metric.js";
import { conventionalMethod } from "./server-head.js";

/** The bounds that the conventions advise, in seconds. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const buckets = new Buckets(bounds);
const maxSeries = 5000;

interface Series {
  readonly method: string;
  readonly scheme: string;
  readonly status: number;
  readonly route: string | null;
  readonly counts: Float64Array;
}

/** The metric `http.server.request.duration` of the conventions for HTTP. Requests that are not sampled count too. */
export class RequestDurations {
  readonly #series = new Set<Series>();

  /** The durations of one route. */
  forRoute(route: string | null): (method: string, scheme: string, status: number, milliseconds: number) => void {
    const known = new Map<string, Map<number, Series>>();
    return (method, scheme, status, milliseconds) => {
      const key = scheme === "https" ? `s${conventionalMethod(method)}` : conventionalMethod(method);
      let byStatus = known.get(key);
      if (byStatus === undefined) known.set(key, (byStatus = new Map()));
      let series = byStatus.get(status);
      if (series === undefined) {
        if (this.#series.size >= maxSeries) return;
        series = { method: conventionalMethod(method), scheme, status, route, counts: buckets.createCounts() };
        byStatus.set(status, series);
        this.#series.add(series);
      }
      observe(buckets.bounds, series.counts, milliseconds / 1000);
    };
  }

  metric(): Metric {
    return {
      name: "http.server.request.duration",
      description: "Duration of HTTP server requests.",
      unit: "s",
      kind: "histogram",
      points: [...this.#series].map(({ method, scheme, status, route, counts }) => {
        const perBucket = Array.from(counts.subarray(0, bounds.length + 1));
        const attributes: [string, string | number][] = [
          ["http.request.method", method],
          ["url.scheme", scheme],
          ["http.response.status_code", status],
        ];
        if (route !== null) attributes.push(["http.route", route]);
        if (status >= 500) attributes.push(["error.type", String(status)]);
        const count = perBucket.reduce((a, b) => a + b, 0);
        return { attributes, count, sum: counts[bounds.length + 1]!, bounds, buckets: perBucket };
      }),
    };
  }
}
