import { App, Response } from "stoa";

/**
 * A queue of jobs that can be looked at from all sides: probes, metrics, logs, a page that shows what continues, and traces,
 * if a collector is named: `OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318`.
 */
export function observedApp(): App {
  const app = new App();
  const queue: string[] = [];

  app.enableHealthChecks({ version: "1.0.0" }).enableMetrics().enableLivePage().enableRequestId();
  if (process.env["OTEL_EXPORTER_OTLP_ENDPOINT"]) app.enableTelemetry({ serviceName: "jobs", logs: true });

  app.healthCheck("queue", () => {
    if (queue.length < 100) return { status: "UP", message: `${queue.length} jobs wait` };
    return { status: queue.length < 1000 ? "DEGRADED" : "DOWN", message: `${queue.length} jobs wait` };
  });

  const taken = app.metrics.counter("jobs_taken_total", { help: "Jobs taken from the queue.", labels: ["outcome"] });
  const work = app.metrics.histogram("job_duration_seconds", { help: "Time that a job took." });
  app.metrics.gauge("jobs_waiting", { help: "Jobs in the queue.", collect: () => queue.length });

  app.post("/jobs", { tags: ["jobs"], summary: "Add a job", status: 202 }, (request) => {
    queue.push(request.text() || "untitled");
    return { waiting: queue.length };
  });

  app.post("/jobs/next", { tags: ["jobs"], summary: "Work on the next job" }, async (request) => {
    const job = queue.shift();
    if (job === undefined) {
      taken.inc({ outcome: "none" });
      return Response.noContent();
    }
    // Both lines carry the ids of the request and of its trace.
    request.log.info("a job begins", { job });
    await app.tracer.span("work", { "job.name": job }, async (span) => {
      const done = work.startTimer();
      await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20));
      span.set("job.seconds", done());
    });
    request.log.info("a job is done", { job });
    taken.inc({ outcome: "done" });
    return { job };
  });

  return app;
}
