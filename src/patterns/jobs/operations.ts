import { registerHealthCheck } from "../../batteries/health/feature.js";
import { livePanels } from "../../batteries/live/panels.js";
import { meterOf } from "../../batteries/metrics/feature.js";
import type { Host } from "../../feature/host.js";
import { ValueError } from "../../internal/value-error.js";
import { addAdmin } from "../admin/add-admin.js";
import { type AdminSettings, readAdminOptions } from "../admin/options.js";
import type { Jobs } from "./jobs.js";
import type { JobsSettings } from "./options.js";
import type { JobStatus } from "./records.js";

const statuses: readonly string[] = ["waiting", "done", "failed", "cancelled"] satisfies readonly JobStatus[];

/** Adds what operators see of jobs: pages, health, metrics, a panel of the live page. */
export function prepareJobs(host: Host, settings: JobsSettings, jobsOf: () => Jobs): void {
  const options = settings.admin === undefined ? null : readAdminOptions(settings.admin, "/_jobs");
  if (options !== null) addPages(host, options, jobsOf);
  registerHealthCheck(
    host,
    "jobs",
    async () => {
      const { oldestDueSeconds } = await jobsOf().records.counts();
      if (oldestDueSeconds * 1000 <= settings.leaseMs * 10) return "UP";
      return { status: "DEGRADED", message: `the oldest job that is due has waited ${Math.round(oldestDueSeconds)} s` };
    },
    { critical: false },
  );
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
          title: "Latest",
          columns: ["Id", "Name", "Status", "Attempts", "Error"],
          rows: latest.map((job) => [job.id, job.name, job.running ? "running" : job.status, job.attempts, job.error]),
          empty: "No jobs yet.",
        },
      ],
      ...(options !== null && { link: { label: "All jobs", href: options.path } }),
    };
  });
  const meter = meterOf(host);
  if (meter === null) return;
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
    collect: async () => (await jobsOf().records.counts()).oldestDueSeconds,
  });
}

function addPages(host: Host, options: AdminSettings, jobsOf: () => Jobs): void {
  const done = (action: string, work: (id: string) => Promise<boolean>) => async (id: string) => {
    if (!(await work(id))) throw new ValueError(`the job cannot be ${action} now`);
  };
  addAdmin(host, options, {
    kind: "jobs",
    enabledBy: "enableJobs",
    async list({ status, name, before, limit }) {
      if (status !== undefined && !statuses.includes(status)) throw new ValueError(`there is no status "${status}"`);
      const items = await jobsOf().list(name ?? null, (status as JobStatus | undefined) ?? null, limit, before ?? null);
      return { items, next: items.length < limit ? null : items.at(-1)!.id };
    },
    async detail(id) {
      const job = await jobsOf().get(id);
      return job === null ? null : { job };
    },
    actions: {
      retry: done("retried", (id) => jobsOf().retry(id)),
      cancel: done("cancelled", (id) => jobsOf().cancel(id)),
    },
  });
}
