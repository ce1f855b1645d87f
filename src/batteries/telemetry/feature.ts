import { feature } from "../../feature/feature.js";
import { perHost } from "../../feature/host.js";
import type { ConfigOf } from "../../kit/config-of.js";
import type { EitherSpelling } from "../../kit/names.js";
import { is } from "../../kit/options.js";
import type { Span } from "../../kit/tracer.js";
import { OpenTelemetryConfig, type OpenTelemetryOptions } from "./config.js";
import type { Telemetry } from "./telemetry.js";
import type { AppTracer } from "./trace/app-tracer.js";
import { noSpan, noTracer } from "./trace/no-tracer.js";

export interface TelemetryFeature {
  /**
   * Exports traces and metrics by OTLP, and log lines where asked for. Options that are not given are taken from the
   * standard `OTEL_*` variables.
   */
  enableTelemetry(
    serviceNameOrOptions?: string | ConfigOf<"OpenTelemetryConfig"> | EitherSpelling<OpenTelemetryOptions> | null,
    otlpEndpoint?: string | null,
    samplingRate?: number | null,
  ): this;
  /** Spans of the application's own. Without `enableTelemetry()` it records nothing. */
  readonly tracer: AppTracer;
}

declare module "../../http/request.js" {
  interface RequestMembers {
    /** The span of the request. Without `enableTelemetry()` it records nothing. */
    readonly span: Span;
  }
}

declare module "../../routing/options.js" {
  interface CommonRouteOptions {
    /** False records no spans for requests of this route. */
    readonly telemetry?: boolean;
  }
}

interface State {
  config: OpenTelemetryConfig | null;
  telemetry: Telemetry | null;
}

const stateOf = perHost((): State => ({ config: null, telemetry: null }));

export const telemetryFeature = feature<TelemetryFeature>({
  name: "telemetry",
  setup: {
    enableTelemetry(host, ...given) {
      stateOf(host).config = OpenTelemetryConfig.from(given);
    },
  },
  values: { tracer: (host) => stateOf(host).telemetry?.tracer ?? noTracer },
  requestMembers: { span: (_host, request) => request.serverSpan ?? noSpan },
  routeOptions: { telemetry: { check: is.boolean, websocket: true } },
  async prepare(host) {
    const state = stateOf(host);
    if (state.config === null) return;
    const { Telemetry } = await import("./telemetry.js");
    state.telemetry = await Telemetry.create(host, state.config);
    host.tracer = state.telemetry?.tracer ?? null;
  },
  review: (host) => OpenTelemetryConfig.options.idle(stateOf(host).config),
  async open(host) {
    await stateOf(host).telemetry?.open();
  },
  ready(host) {
    stateOf(host).telemetry?.ready();
  },
  async close(host) {
    await stateOf(host).telemetry?.close();
  },
});
