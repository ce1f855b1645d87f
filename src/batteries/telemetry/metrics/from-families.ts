import type { Family, Sample } from "../../metrics/family.js";
import type { HistogramPoint, Metric, NumberPoint, SummaryPoint } from "./metric.js";

/** The metrics of the registry in the terms of OTLP. Names stay: a Prometheus that receives them shows the same ones. */
export function metricOf({ name, help, type, samples }: Family): Metric {
  const head = { name, description: help, unit: unitOf(name) };
  switch (type) {
    case "counter":
      return { ...head, kind: "sum", points: samples.map(numberPoint) };
    case "histogram":
      return { ...head, kind: "histogram", points: grouped(samples, "le").map(histogramPoint) };
    case "summary":
      return { ...head, kind: "summary", points: grouped(samples, "quantile").map(summaryPoint) };
    default:
      return { ...head, kind: "gauge", points: samples.map(numberPoint) };
  }
}

function unitOf(name: string): string {
  const base = name.replace(/_total$/, "");
  if (base.endsWith("_seconds")) return "s";
  return base.endsWith("_bytes") ? "By" : "";
}

function numberPoint([series, value]: Sample): NumberPoint {
  return { attributes: parseSeries(series).labels, value };
}

interface Group {
  readonly attributes: [string, string][];
  /** The value of the special label, and the value of the sample. */
  readonly parts: [label: string, value: number][];
  sum: number;
  count: number;
}

/** The samples that make up one point: those with the same labels but for the special one. */
function grouped(samples: readonly Sample[], special: string): Group[] {
  const groups = new Map<string, Group>();
  for (const [series, value] of samples) {
    const { suffix, labels } = parseSeries(series);
    const attributes = labels.filter(([name]) => name !== special);
    const key = JSON.stringify(attributes);
    let group = groups.get(key);
    if (group === undefined) groups.set(key, (group = { attributes, parts: [], sum: 0, count: 0 }));
    if (suffix === "_sum") group.sum = value;
    else if (suffix === "_count") group.count = value;
    else group.parts.push([labels.find(([name]) => name === special)?.[1] ?? "", value]);
  }
  return [...groups.values()];
}

/** The buckets of the registry's samples include all smaller ones; those of OTLP do not. */
function histogramPoint({ attributes, parts, sum, count }: Group): HistogramPoint {
  const sorted = parts.map(([bound, value]) => [boundOf(bound), value] as const).sort(([a], [b]) => a - b);
  const bounds = sorted.map(([bound]) => bound).filter((bound) => Number.isFinite(bound));
  const below = [...sorted.slice(0, bounds.length).map(([, value]) => value), count];
  const buckets = below.map((value, i) => Math.max(0, value - (i === 0 ? 0 : below[i - 1]!)));
  return { attributes, count, sum, bounds, buckets };
}

function boundOf(text: string): number {
  return text === "+Inf" ? Number.POSITIVE_INFINITY : Number(text);
}

function summaryPoint({ attributes, parts, sum, count }: Group): SummaryPoint {
  const quantiles = parts.filter(([, value]) => !Number.isNaN(value)).map(([q, value]) => [Number(q), value] as const);
  return { attributes, count, sum, quantiles };
}

/** Takes a rendered series apart: `_bucket{path="/",le="0.1"}`. */
function parseSeries(series: string): { readonly suffix: string; readonly labels: [string, string][] } {
  const brace = series.indexOf("{");
  if (brace < 0) return { suffix: series, labels: [] };
  const labels: [string, string][] = [];
  let at = brace + 1;
  while (at < series.length && series[at] !== "}") {
    const equals = series.indexOf('="', at);
    if (equals < 0) break;
    let end = equals + 2;
    while (end < series.length && series[end] !== '"') end += series[end] === "\\" ? 2 : 1;
    labels.push([series.slice(at, equals), unescaped(series.slice(equals + 2, end))]);
    at = series[end + 1] === "," ? end + 2 : end + 1;
  }
  return { suffix: series.slice(0, brace), labels };
}

function unescaped(text: string): string {
  return text.includes("\\") ? text.replace(/\\(.)/g, (_, found: string) => (found === "n" ? "\n" : found)) : text;
}
