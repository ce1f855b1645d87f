import type { Logger } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { observedApp } from "../../examples/observed/app.js";
import { startCollector } from "../batteries/telemetry/collector.js";

describe("the observed queue", () => {
  it("The observed queue has health, metrics and a live page", async () => {
    await using server = await serve(observedApp(), { debug: true });
    for (const path of ["/jobs", "/jobs", "/jobs/next"]) await fetch(server.url + path, { method: "POST", body: "a" });
    const health = await (await fetch(`${server.url}/health`)).json();
    expect(health).toMatchObject({ status: "UP", version: "1.0.0", checks: { queue: { message: "1 jobs wait" } } });
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toContain('jobs_taken_total{outcome="done"} 1\n');
    expect(metrics).toContain("jobs_waiting 1\n");
    expect(metrics).toContain("job_duration_seconds_count 1\n");
    expect(metrics).toContain('framework_http_requests_total{method="POST",status="202",path="/jobs"} 2\n');
    expect((await fetch(`${server.url}/_stoa`)).status).toBe(200);
  });

  it("The observed queue exports the trace of a job and its log lines", async () => {
    await using collector = await startCollector();
    vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url);
    onTestFinished(() => void vi.unstubAllEnvs());
    const app = observedApp();
    const silent: Logger = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };
    app.logger = silent;
    await using server = await serve(app);
    for (const path of ["/jobs", "/jobs/next"]) await fetch(server.url + path, { method: "POST", body: "a" });
    await app.tracer.flush();
    const [, work, next] = collector.spans.filter(({ kind }) => kind !== 3);
    expect(next).toMatchObject({ name: "POST /jobs/next" });
    expect(work).toMatchObject({ name: "work", parentSpanId: next!.spanId, attributes: { "job.name": "a" } });
    expect(collector.logs).toMatchObject([
      { message: "a job begins", traceId: next!.traceId, attributes: { job: "a" } },
      { message: "a job is done", traceId: next!.traceId },
    ]);
    expect(collector.resource["service.name"]).toBe("jobs");
  });
});
