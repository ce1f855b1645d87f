import type { Host } from "../../feature/host.js";
import type { Request } from "../../http/request.js";
import { Response } from "../../http/response.js";
import { transportName } from "../../server/choose-transport.js";
import { workerChannel } from "../../server/process/worker-channel.js";
import { openMetricsFormat, openMetricsType, textFormat, textType, wantsOpenMetrics } from "./exposition.js";
import type { Family } from "./family.js";
import { HttpMetrics } from "./http-metrics.js";
import type { MetricsSettings } from "./options.js";
import { ProcessMetrics } from "./process-metrics.js";
import type { Metrics } from "./registry.js";
import { WorkerMetrics } from "./worker-metrics.js";

/** Adds the metrics of requests, process and workers, and their endpoint. Returns the parts that must be started. */
export function addMetrics(
  host: Host,
  metrics: Metrics,
  options: MetricsSettings,
): readonly (ProcessMetrics | WorkerMetrics)[] {
  const prefix = [options.namespace, options.subsystem, ""].filter((part, i) => part !== "" || i === 2).join("_");
  const http = new HttpMetrics({ ...options, prefix });
  metrics.addSource(() => http.collect());
  host.use(http.middleware);
  const refused = metrics.counter(`${prefix}requests_refused_total`, {
    help: "Requests that the server refused before the application saw them, by code of the error.",
    labels: ["code"],
  });
  host.onRefused((code) => refused.inc({ code }));
  const { transport } = host.settings;
  if (transport !== undefined) {
    const info = metrics.gauge(`${prefix}transport_info`, {
      help: "The transport that serves, and why it is not the native one.",
      labels: ["transport", "reason"],
      merge: "max",
    });
    info.set({ transport: transportName(transport), reason: transport.notNative ?? "" }, 1);
  }
  const workers = new WorkerMetrics({
    channel: workerChannel,
    collect: () => metrics.collect(),
    workers: host.settings.workers,
    patience: options.workerTimeout * 1000,
  });
  host.route({
    path: options.endpoint,
    options: { metrics: false, telemetry: false, etag: false },
    handler: async (request) => exposition(await workers.gather(), request),
  });
  if (!options.processMetrics) return [workers];
  const own = new ProcessMetrics();
  metrics.addSource(() => own.collect());
  return [own, workers];
}

function exposition(families: readonly Family[], request: Request): Response {
  const open = wantsOpenMetrics(request.source.header("accept"));
  const response = new Response(open ? openMetricsFormat(families) : textFormat(families));
  response.type = open ? openMetricsType : textType;
  response.addField("Cache-Control", "no-store");
  response.addField("Vary", "Accept");
  return response;
}
