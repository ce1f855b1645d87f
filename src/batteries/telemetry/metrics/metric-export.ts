import { within } from "../../../kit/time/within.js";
import type { Family } from "../../metrics/family.js";
import { Batch, type LatestBatch } from "../export/batches.js";
import type { SignalExport } from "../export/signal.js";
import { encodeMetric } from "../otlp/metric-encoder.js";
import { unixMicros } from "../trace/clock.js";
import type { InstrumentationScope } from "../trace/context.js";
import { metricOf } from "./from-families.js";
import type { Metric } from "./metric.js";

export interface MetricExportParts {
  readonly out: SignalExport<LatestBatch>;
  readonly scope: InstrumentationScope;
  /** Milliseconds between two exports. */
  readonly interval: number;
  /** The metrics of the registry. */
  readonly families: () => Promise<readonly Family[]>;
  /** Metrics that telemetry counts itself. */
  readonly own: () => readonly Metric[];
}

/** Pushes all metrics from time to time. */
export class MetricExport {
  readonly #from = unixMicros(performance.now());
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly parts: MetricExportParts) {}

  start(): void {
    this.#timer = setInterval(() => void this.#push(), this.parts.interval).unref();
  }

  /** Exports the metrics of this moment. */
  async flush(): Promise<void> {
    await this.#push();
    await this.parts.out.exporter.flush();
  }

  /** Exports the metrics for the last time, while what gauges ask is open. A start that failed exports none. */
  async last(milliseconds: number): Promise<void> {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    // It may not reply any more.
    await within(this.#push(), milliseconds);
  }

  async stop(milliseconds: number): Promise<void> {
    clearInterval(this.#timer);
    await this.parts.out.exporter.close(milliseconds);
  }

  async #push(): Promise<void> {
    const { out, scope, families, own } = this.parts;
    const metrics = [...own(), ...(await families()).map(metricOf)].filter(({ points }) => points.length > 0);
    if (metrics.length === 0) return;
    const interval = { from: this.#from, to: unixMicros(performance.now()) };
    const batch = new Batch(16 * 1024);
    batch.from(scope);
    for (const metric of metrics) encodeMetric(batch.writer, metric, interval);
    batch.count = metrics.reduce((sum, { points }) => sum + points.length, 0);
    out.queue.set(batch);
    out.exporter.kick();
  }
}
