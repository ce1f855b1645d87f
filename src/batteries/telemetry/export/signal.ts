import { readFile } from "node:fs/promises";
import type { Logger } from "../../../kit/logger.js";
import type { Signal, SignalSettings } from "../settings.js";
import type { BatchQueue } from "./batches.js";
import { Exporter } from "./exporter.js";
import { LossReport } from "./loss-report.js";
import type { Transport, TransportOptions } from "./transport.js";

/** The services of OTLP/gRPC. */
const services: Readonly<Record<Signal, string>> = {
  traces: "opentelemetry.proto.collector.trace.v1.TraceService",
  metrics: "opentelemetry.proto.collector.metrics.v1.MetricsService",
  logs: "opentelemetry.proto.collector.logs.v1.LogsService",
};

/** The items of a signal, in words. */
const items: Readonly<Record<Signal, string>> = { traces: "spans", metrics: "metrics", logs: "log records" };

/** The way of one signal to its collector. */
export interface SignalExport<Queue extends BatchQueue> {
  readonly queue: Queue;
  readonly exporter: Exporter;
  readonly report: LossReport;
}

export interface SignalParts<Queue extends BatchQueue> {
  readonly signal: Signal;
  readonly settings: SignalSettings;
  readonly resource: Uint8Array;
  readonly logger: () => Logger;
  readonly queue: (report: LossReport, kick: () => void) => Queue;
}

export async function openSignal<Queue extends BatchQueue>(parts: SignalParts<Queue>): Promise<SignalExport<Queue>> {
  const { signal, settings, resource, logger } = parts;
  const report = new LossReport(logger, items[signal], `${settings.url.origin}${settings.url.pathname}`);
  const transport = await openTransport(signal, settings);
  const queue = parts.queue(report, () => exporter.kick());
  const exporter = new Exporter({
    queue,
    transport,
    resource,
    lost: (count, reason) => report.lost(count, reason),
    failed: (reason) => report.failed(reason),
  });
  return { queue, exporter, report };
}

/** gRPC is loaded if it is asked for. */
async function openTransport(signal: Signal, settings: SignalSettings): Promise<Transport> {
  const { url, headers, timeout, compression } = settings;
  const options: TransportOptions = { url, headers, timeout, compression, tls: await readTls(settings) };
  if (settings.protocol === "grpc") {
    const { GrpcTransport } = await import("./grpc-transport.js");
    return new GrpcTransport(options, services[signal]);
  }
  const { HttpTransport } = await import("./http-transport.js");
  return new HttpTransport(options);
}

async function readTls({ tls }: SignalSettings): Promise<TransportOptions["tls"]> {
  const entries = Object.entries(tls).map(async ([name, path]) => [name, await readFile(path)] as const);
  return Object.fromEntries(await Promise.all(entries));
}
