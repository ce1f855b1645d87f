import { App, type Logger, type OpenTelemetryOptions } from "stoa";
import { onTestFinished } from "vitest";
import { serve } from "../../../src/testing/serve.js";
import { send, type WireRequest, type WireResponse } from "../wire.js";
import { type Collector, startCollector } from "./collector.js";

export interface TracedApp {
  readonly app: App;
  readonly url: string;
  readonly collector: Collector;
  readonly lines: Line[];
  send(path: string, init?: WireRequest): Promise<WireResponse>;
  /** Exports everything that waits. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface Line {
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

/** A logger that is not one of the framework's, as an application may set its own. */
export function keepingLogger(lines: Line[] = [], bound: object = {}): Logger & { readonly lines: Line[] } {
  const keep =
    (level: string) =>
    (message: string, fields?: object): void =>
      void lines.push({ ...bound, ...fields, level, message });
  return {
    lines,
    debug: keep("debug"),
    info: keep("info"),
    warn: keep("warn"),
    error: keep("error"),
    child: (fields) => keepingLogger(lines, { ...bound, ...fields }),
  };
}

export interface TracedOptions {
  readonly telemetry?: OpenTelemetryOptions;
  readonly collector?: Collector;
  readonly logger?: Logger;
  readonly debug?: boolean;
  /** True logs each request. */
  readonly logs?: boolean;
}

/** An application with telemetry on a port of its own, and a collector for it. */
export async function traced(setup: (app: App) => void, options: TracedOptions = {}): Promise<TracedApp> {
  const collector = options.collector ?? (await startCollector());
  const app = new App();
  const logger = keepingLogger();
  app.logger = options.logger ?? logger;
  app.enableTelemetry({ otlpEndpoint: collector.url, ...options.telemetry });
  setup(app);
  const debug = options.debug ?? false;
  // The test server logs no requests.
  const server = options.logs
    ? await app.run({ port: 0, exit: false, logs: true, debug })
    : await serve(app, { debug });
  let closed: Promise<void> | null = null;
  const close = (): Promise<void> => (closed ??= server.close().then(() => collector.close()));
  onTestFinished(close);
  return {
    app,
    url: server.url,
    collector,
    lines: logger.lines,
    send: (path, init) => send(server.url, path, init),
    flush: () => app.tracer.flush(),
    close,
  };
}
