import type { Host } from "../../feature/host.js";
import type { Logger } from "../../kit/logger.js";
import { setTraceFields } from "../../logging/trace-fields.js";
import { meterOf, onLastMetrics, registryOf } from "../metrics/feature.js";
import type { OpenTelemetryConfig } from "./config.js";
import { Environment } from "./environment.js";
import { BoundedBatches, LatestBatch } from "./export/batches.js";
import { openSignal, type SignalExport } from "./export/signal.js";
import { RequestDurations } from "./http/durations.js";
import { traceFetch } from "./http/outgoing.js";
import { serverTracing } from "./http/server-tracing.js";
import { ExportingLogger } from "./logs/exporting-logger.js";
import { MetricExport } from "./metrics/metric-export.js";
import { joinOpenTelemetryApi } from "./otel-api/bridge.js";
import { encodeResource } from "./otlp/envelope.js";
import { encodeLog, type LogRecord } from "./otlp/log-encoder.js";
import { encodeSpan } from "./otlp/span-encoder.js";
import type { Writer } from "./otlp/writer.js";
import { frameworkScope, resourceAttributes } from "./resource.js";
import { decideSettings, type Signal, type SignalSettings, type TelemetrySettings } from "./settings.js";
import { unixMicros } from "./trace/clock.js";
import { currentFrame } from "./trace/context.js";
import { Sampler } from "./trace/sampler.js";
import { TelemetryTracer } from "./trace/tracer.js";

type Exports = {
  traces: SignalExport<BoundedBatches> | null;
  logs: SignalExport<BoundedBatches> | null;
  metrics: SignalExport<LatestBatch> | null;
};

/** The telemetry of one application. */
export class Telemetry {
  readonly tracer: TelemetryTracer;
  readonly #host: Host;
  readonly #settings: TelemetrySettings;
  readonly #exports: Exports;
  readonly #metrics: MetricExport | null;
  /** The logger without the export of logs: lines about the export must not be exported. */
  readonly #logger: Logger;
  readonly #ends: (() => void)[] = [];

  /** Null if the environment disables telemetry. */
  static async create(host: Host, config: OpenTelemetryConfig): Promise<Telemetry | null> {
    const env = new Environment();
    const settings = decideSettings(config, env);
    if (settings === null) return null;
    const resource = encodeResource(resourceAttributes(config, settings.serviceName, env));
    for (const warning of env.warnings) host.logger.warn(`telemetry: ${warning}`);
    const { logger } = host;
    const open = (signal: Signal, to: SignalSettings | null) =>
      to && openSignal({ signal, settings: to, resource, logger: () => logger, queue: boundedQueue(settings) });
    const [traces, logs, metrics] = await Promise.all([
      open("traces", settings.traces),
      open("logs", settings.logs),
      settings.metrics &&
        openSignal({
          signal: "metrics",
          settings: settings.metrics,
          resource,
          logger: () => logger,
          queue: () => new LatestBatch(),
        }),
    ]);
    return new Telemetry(host, settings, { traces, logs, metrics });
  }

  private constructor(host: Host, settings: TelemetrySettings, exports: Exports) {
    const scope = frameworkScope();
    const spans = exports.traces?.queue;
    const durations = exports.metrics && new RequestDurations();
    this.#host = host;
    this.#settings = settings;
    this.#exports = exports;
    this.#logger = host.logger;
    this.tracer = new TelemetryTracer({
      sampler: new Sampler(settings.sampling),
      limits: settings.limits,
      propagation: settings.propagation,
      scope,
      record: spans === undefined ? null : (span) => spans.add(span.scope, encodeSpan, span),
      flush: () => this.flush(),
    });
    this.#metrics =
      exports.metrics &&
      new MetricExport({
        out: exports.metrics,
        scope,
        interval: settings.metricInterval,
        families: () => registryOf(host).collect(),
        own: () => (durations === null ? [] : [durations.metric()]),
      });
    onLastMetrics(host, async () => this.#metrics?.last(settings.flushTimeout));
    this.#exportLogs();
    host.use(serverTracing({ host, tracer: this.tracer, durations, recordQuery: settings.recordQuery }));
    this.#countLosses();
  }

  async open(): Promise<void> {
    const { fetch, propagateTo, recordQuery } = this.#settings;
    this.#ends.push(await joinOpenTelemetryApi(this.tracer, this.#logger), bindLogs());
    if (fetch) this.#ends.push(traceFetch({ tracer: this.tracer, propagateTo, recordQuery }));
  }

  /** Everything that gauges ask has started. */
  ready(): void {
    this.#metrics?.start();
  }

  async flush(): Promise<void> {
    const { traces, logs } = this.#exports;
    await Promise.all([traces?.exporter.flush(), logs?.exporter.flush(), this.#metrics?.flush()]);
  }

  /** Exports what is left, within a limited time. */
  async close(): Promise<void> {
    for (const end of this.#ends.splice(0)) end();
    const { traces, logs, metrics } = this.#exports;
    const { flushTimeout } = this.#settings;
    await Promise.all([
      traces?.exporter.close(flushTimeout),
      logs?.exporter.close(flushTimeout),
      this.#metrics?.stop(flushTimeout),
    ]);
    for (const signal of [traces, logs, metrics]) signal?.report.end();
  }

  /** Begins to export each line of the application's logger. */
  #exportLogs(): void {
    const logs = this.#exports.logs?.queue;
    if (logs === undefined) return;
    const { limits, logLevel } = this.#settings;
    const { scope } = this.tracer;
    const encode = (writer: Writer, record: LogRecord): void => encodeLog(writer, record, limits.valueLength);
    this.#host.logger = new ExportingLogger(this.#logger, logLevel, (level, message, fields) => {
      const span = currentFrame()?.span ?? null;
      const time = unixMicros(performance.now());
      const ids = { traceId: span?.traceId ?? null, spanId: span?.spanId ?? null, flags: span?.flags ?? 0 };
      logs.add(scope, encode, { time, level, message, fields, ...ids });
    });
  }

  #countLosses(): void {
    const meter = meterOf(this.#host);
    if (meter === null) return;
    const signals = Object.entries(this.#exports).filter(([, out]) => out !== null);
    meter.metrics.addSource(() => [
      {
        name: meter.named("telemetry_lost_total"),
        help: "Spans, log records and metrics that could not be exported.",
        type: "counter",
        merge: "sum",
        samples: signals.map(([signal, out]) => [`{signal="${signal}"}`, out!.report.total] as const),
      },
    ]);
  }
}

function boundedQueue({ batches, delay }: TelemetrySettings) {
  return (report: { lost(count: number, reason: string): void }, kick: () => void): BoundedBatches => {
    let timer: NodeJS.Timeout | undefined;
    const queue: BoundedBatches = new BoundedBatches(batches, {
      first() {
        clearTimeout(timer);
        timer = setTimeout(() => {
          queue.seal();
          kick();
        }, delay).unref();
      },
      sealed() {
        clearTimeout(timer);
        kick();
      },
      dropped: (count) => report.lost(count, "the collector takes them too slowly, or not at all"),
    });
    return queue;
  };
}

let bound = 0;

/** Lets log lines carry the ids of the current trace. */
function bindLogs(): () => void {
  if (bound++ === 0) {
    setTraceFields(() => {
      const span = currentFrame()?.span ?? null;
      return span === null ? null : { trace_id: span.traceId, span_id: span.spanId };
    });
  }
  return () => {
    if (--bound === 0) setTraceFields(null);
  };
}
