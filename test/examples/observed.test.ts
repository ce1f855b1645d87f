import { serve } from "stoa/testing";
import { describe, expect, it } from "vitest";
import { observedApp } from "../../examples/observed/app.js";

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
});
