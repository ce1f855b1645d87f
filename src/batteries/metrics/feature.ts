import { type FeatureHost, type FeatureMethods, slot } from "../../feature/feature.js";
import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import type { EitherSpelling } from "../../internal/names.js";
import type { Family } from "./family.js";
import { type MetricsOptions, readMetricsOptions } from "./options.js";
import { Metrics } from "./registry.js";

export interface MetricsFeature {
  /** Counts requests and shows what was counted at an endpoint, `/metrics` unless given, for Prometheus and its like. */
  enableMetrics(
    ...given:
      | [options?: EitherSpelling<MetricsOptions>]
      | [endpoint: string | undefined, namespace?: string, subsystem?: string]
  ): this;
  /** Metrics of the application's own; shown with the others. */
  readonly metrics: Metrics;
}

export const metricsFeature: FeatureMethods<MetricsFeature> = {
  enableMetrics(...given) {
    this.assertOpen("enableMetrics()");
    const options = readMetricsOptions(given);
    const enabled = slot(this, metricsFeature, () => {
      this.onPrepare(() => startMetrics(this, enabled.options));
      return { options };
    });
    enabled.options = options;
    return this;
  },

  get metrics(): Metrics {
    return metricsOf(this);
  },
};

const registryKey = Symbol("metrics");

/** The application's metrics, for features that have something to tell too. */
export function metricsOf(host: FeatureHost): Metrics {
  return slot(
    host,
    registryKey,
    () => new Metrics((message, error) => host.logger.warn(message, error === undefined ? {} : { error })),
  );
}

/** What only a service with metrics needs is loaded here. */
async function startMetrics(host: FeatureHost, options: Required<MetricsOptions>): Promise<void> {
  const {
    exposition: format,
    HttpMetrics,
    ProcessMetrics,
    WorkerMetrics,
    workerChannel,
  } = await import("../../app/features/enabled.js");
  const metrics = metricsOf(host);
  const prefix = [options.namespace, options.subsystem, ""].filter((part, i) => part !== "" || i === 2).join("_");
  const http = new HttpMetrics({ ...options, prefix });
  metrics.addSource(() => http.collect());
  host.addFeature(http.middleware);
  if (options.processMetrics) {
    const own = new ProcessMetrics();
    metrics.addSource(() => own.collect());
    host.beforeStartup(() => own.start());
    host.afterShutdown(() => own.stop());
  }
  const workers = new WorkerMetrics({
    channel: workerChannel,
    collect: () => metrics.collect(),
    workers: host.settings.workers,
    patience: options.workerTimeout * 1000,
  });
  host.beforeStartup(() => workers.start());
  host.afterShutdown(() => workers.stop());
  const show = (families: readonly Family[], request: Request): Response => {
    const open = format.wantsOpenMetrics(request.source.header("accept"));
    const response = new Response(open ? format.openMetricsFormat(families) : format.textFormat(families));
    response.type = open ? format.openMetricsType : format.textType;
    response.addField("Cache-Control", "no-store");
    response.addField("Vary", "Accept");
    return response;
  };
  host.accept({
    methods: ["GET"],
    path: options.endpoint,
    websocket: false,
    options: { hidden: true, metrics: false, etag: false },
    handler: async (request: Request) => show(await workers.gather(), request),
    scopes: [],
  });
}
