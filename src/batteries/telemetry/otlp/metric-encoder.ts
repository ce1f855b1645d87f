import type { HistogramPoint, Metric, NumberPoint, PointAttributes, SummaryPoint } from "../metrics/metric.js";
import { writeAttribute } from "./attributes.js";
import type { Writer } from "./writer.js";

/** The counts since the start of the process, not since the last export (AggregationTemporality). */
const cumulative = 2;
const noLimit = Number.POSITIVE_INFINITY;

/** The time that points cover, in microseconds since 1970. */
export interface Interval {
  readonly from: number;
  readonly to: number;
}

/** Writes one `Metric` as field 2 of `ScopeMetrics`. */
export function encodeMetric(writer: Writer, metric: Metric, interval: Interval): void {
  const whole = writer.begin(0x12);
  writer.tag(0x0a).string(metric.name);
  writer.tag(0x12).string(metric.description);
  if (metric.unit !== "") writer.tag(0x1a).string(metric.unit);
  const data = writer.begin(dataTags[metric.kind]);
  switch (metric.kind) {
    case "gauge":
      for (const point of metric.points) writeNumber(writer, point, interval);
      break;
    case "sum":
      for (const point of metric.points) writeNumber(writer, point, interval);
      writeTemporality(writer);
      // Monotonic: it never falls.
      writer.tag(0x18).byte(1);
      break;
    case "histogram":
      for (const point of metric.points) writeHistogram(writer, point, interval);
      writeTemporality(writer);
      break;
    case "summary":
      for (const point of metric.points) writeSummary(writer, point, interval);
      break;
  }
  writer.join(data);
  writer.join(whole);
}

const dataTags = { gauge: 0x2a, sum: 0x3a, histogram: 0x4a, summary: 0x5a } as const;

function writeTemporality(writer: Writer): void {
  writer.tag(0x10).byte(cumulative);
}

function writeTimes(writer: Writer, { from, to }: Interval): void {
  writer.tag(0x11).nanos(from);
  writer.tag(0x19).nanos(to);
}

function writeAttributes(writer: Writer, tag: number, attributes: PointAttributes): void {
  for (const [name, value] of attributes) writeAttribute(writer, tag, name, value, noLimit);
}

function writeNumber(writer: Writer, { attributes, value }: NumberPoint, interval: Interval): void {
  const mark = writer.begin(0x0a);
  writeTimes(writer, interval);
  writer.tag(0x21).double(value);
  writeAttributes(writer, 0x3a, attributes);
  writer.join(mark);
}

/** Begins a point that has a count and a sum. */
function beginSum(writer: Writer, { count, sum }: HistogramPoint | SummaryPoint, interval: Interval): number {
  const mark = writer.begin(0x0a);
  writeTimes(writer, interval);
  writer.tag(0x21).count(count);
  writer.tag(0x29).double(sum);
  return mark;
}

function writeHistogram(writer: Writer, point: HistogramPoint, interval: Interval): void {
  const mark = beginSum(writer, point, interval);
  const counts = writer.begin(0x32);
  for (const count of point.buckets) writer.count(count);
  writer.join(counts);
  const bounds = writer.begin(0x3a);
  for (const bound of point.bounds) writer.double(bound);
  writer.join(bounds);
  writeAttributes(writer, 0x4a, point.attributes);
  writer.join(mark);
}

function writeSummary(writer: Writer, point: SummaryPoint, interval: Interval): void {
  const mark = beginSum(writer, point, interval);
  for (const [quantile, value] of point.quantiles) {
    const entry = writer.begin(0x32);
    writer.tag(0x09).double(quantile);
    writer.tag(0x11).double(value);
    writer.join(entry);
  }
  writeAttributes(writer, 0x3a, point.attributes);
  writer.join(mark);
}
