import type { Meter } from "../../batteries/metrics/feature.js";
import type { Tracer } from "../../kit/tracer.js";

/** The outcome of a request: a result, a result that says that the tool failed, an error, or none because it was cancelled. */
export type Outcome = "done" | "failed" | "error" | "cancelled";

/** Counts, times and traces the requests of clients. `name` is that of a known tool or prompt, or empty. */
export class McpMonitor {
  readonly #tracer: () => Tracer | null;
  readonly #ended: (method: string, name: string, outcome: Outcome, seconds: number) => void;

  constructor(meter: Meter | null, tracer: () => Tracer | null) {
    this.#tracer = tracer;
    this.#ended = meter === null ? () => {} : counters(meter);
  }

  async measure<T extends { readonly outcome: Outcome }>(
    method: string,
    name: string,
    work: () => Promise<T>,
  ): Promise<T> {
    const started = performance.now();
    const attributes = { "mcp.method.name": method, ...(name !== "" && { "gen_ai.tool.name": name }) };
    const span = this.#tracer()?.start(`${method} ${name}`.trim(), attributes, { kind: "internal" }) ?? null;
    const result = await (span === null ? work() : span.run(work));
    if (result.outcome !== "done") span?.set("error.type", result.outcome);
    span?.end();
    this.#ended(method, name, result.outcome, (performance.now() - started) / 1000);
    return result;
  }
}

function counters({
  metrics,
  named,
  durationBuckets,
}: Meter): (method: string, name: string, outcome: Outcome, seconds: number) => void {
  const total = metrics.counter(named("mcp_requests_total"), {
    help: "Requests of MCP clients by method, name of the tool or prompt, and outcome: done, failed, error or cancelled.",
    labels: ["method", "name", "outcome"],
  });
  const durations = metrics.histogram(named("mcp_request_duration_seconds"), {
    help: "Time of a request of an MCP client in seconds.",
    labels: ["method", "name"],
    buckets: durationBuckets,
  });
  return (method, name, outcome, seconds) => {
    total.labels({ method, name, outcome }).inc();
    durations.labels({ method, name }).observe(seconds);
  };
}
