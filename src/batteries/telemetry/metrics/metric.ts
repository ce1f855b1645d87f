/** Metrics in the terms of OTLP, ready to be encoded. */
export type Metric = MetricHead &
  (
    | { readonly kind: "sum" | "gauge"; readonly points: readonly NumberPoint[] }
    | { readonly kind: "histogram"; readonly points: readonly HistogramPoint[] }
    | { readonly kind: "summary"; readonly points: readonly SummaryPoint[] }
  );

interface MetricHead {
  readonly name: string;
  readonly description: string;
  /** By UCUM: `s`, `By`; empty if not known. */
  readonly unit: string;
}

export type PointAttributes = readonly (readonly [name: string, value: string | number])[];

export interface NumberPoint {
  readonly attributes: PointAttributes;
  readonly value: number;
}

export interface HistogramPoint extends Omit<SummaryPoint, "quantiles"> {
  /** Upper bounds; the last bucket has none. */
  readonly bounds: readonly number[];
  /** Counts of each bucket alone, one more than there are bounds. */
  readonly buckets: readonly number[];
}

export interface SummaryPoint {
  readonly attributes: PointAttributes;
  readonly count: number;
  readonly sum: number;
  readonly quantiles: readonly (readonly [quantile: number, value: number])[];
}
