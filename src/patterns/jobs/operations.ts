import { registerHealthCheck } from "../../batteries/health/feature.js";
import { meterOf } from "../../batteries/metrics/feature.js";
import { livePanels } from "../../console/panels.js";
import { showLeases } from "../../durable/lease-panel.js";
import type { Host } from "../../feature/host.js";
import type { Jobs } from "./jobs.js";
import type { JobsSettings } from "./options.js";
import { addJobPages } from "./pages.js";

/**
 * Adds what operators see of jobs: pages, health, metrics, a panel of the live page. Returns what is called at the end of each
 * attempt.
 */
export function prepareJobs(host: Host, settings: JobsSettings, jobsOf: () => Jobs): Jobs["onEnd"] {
  const { admin, lease } = settings;
  if (admin !== undefined) addJobPages(host, admin, jobsOf);
  registerHealthCheck(
    host,
    "jobs",
    async () => {
      const oldestDueSeconds = await jobsOf().records.oldestDueSeconds();
      if (oldestDueSeconds <= lease * 10) return "UP";
      return { status: "DEGRADED", message: `the oldest job that is due has waited ${Math.round(oldestDueSeconds)} s` };
    },
    { critical: false },
  );
  showLeases(host, "Jobs", { read: () => jobsOf().records.leases(), path: admin?.path });
  livePanels(host).add("jobs", async () => {
    const { waiting, running, failed, oldestDueSeconds } = await jobsOf().records.counts();
    const latest = await jobsOf().list(null, null, 10, null);
    return {
      title: "Jobs",
      facts: [
        { label: "Waiting", value: waiting },
        { label: "Running", value: running },
        { label: "Failed", value: failed, ...(failed > 0 && { tone: "bad" as const }) },
        { label: "Oldest due", value: `${oldestDueSeconds.toFixed(1)} s` },
      ],
      tables: [
        {
          title: "Names",
          columns: ["Name", "Waiting", "Running", "Failed", "Limit", ""],
          rows: (await jobsOf().names()).map((one) => [
            one.name,
            one.waiting,
            one.running,
            one.failed,
            jobsOf().limits.get(one.name) ?? "",
            one.paused ? "paused" : "",
          ]),
          empty: "No jobs are declared.",
        },
        {
          title: "Latest",
          columns: ["Id", "Name", "Status", "Attempts", "Error"],
          rows: latest.map((job) => [job.id, job.name, job.running ? "running" : job.status, job.attempts, job.error]),
          empty: "No jobs yet.",
        },
      ],
      ...(admin !== undefined && { link: { label: "All jobs", href: admin.path } }),
    };
  });
  const meter = meterOf(host);
  if (meter === null) return () => {};
  // All workers read the same table: their values are one, not a sum.
  meter.metrics.gauge(meter.named("jobs"), {
    help: "Jobs by status; those that are done are left out.",
    labels: ["status"],
    merge: "max",
    async collect(gauge) {
      const counts = await jobsOf().records.counts();
      for (const status of ["waiting", "running", "failed"] as const) gauge.set({ status }, counts[status]);
    },
  });
  meter.metrics.gauge(meter.named("jobs_oldest_due_seconds"), {
    help: "Time that the oldest job which is due has waited for a worker.",
    merge: "max",
    collect: () => jobsOf().records.oldestDueSeconds(),
  });
  const durations = meter.metrics.histogram(meter.named("job_duration_seconds"), {
    help: "Time of attempts of jobs, by their name and their end.",
    labels: ["name", "end"],
  });
  return (name, end, seconds) => durations.observe({ name, end }, seconds);
}
