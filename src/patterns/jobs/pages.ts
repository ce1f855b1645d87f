import type { AdminSettings } from "../../console/options.js";
import type { LiveCell, LivePanel, LiveTone } from "../../console/panels.js";
import { recordLink, recordPages } from "../../console/records.js";
import type { Host } from "../../feature/host.js";
import { ValueError } from "../../kit/value-error.js";
import type { Jobs } from "./jobs.js";
import type { JobInfo, JobStatus } from "./records.js";

type Tones = Readonly<Record<JobStatus, LiveTone>>;
const tones: Tones = { waiting: "info", done: "good", failed: "bad", cancelled: "warning" };

/** Adds the section of jobs to the console: the list, one job, and the calls for operators. */
export function addJobPages(host: Host, options: AdminSettings, jobsOf: () => Jobs): void {
  const done = (action: string, work: (id: string) => Promise<boolean>) => async (id: string) => {
    if (!(await work(id))) throw new ValueError(`the job cannot be ${action} now`);
  };
  recordPages<JobInfo, JobStatus, { readonly job: JobInfo }>(host, options, {
    title: "Jobs",
    enabledBy: "enableJobs({ admin: ... })",
    tones,
    columns: ["Id", "Name", "Status", "Attempts", "Progress", "Created", "Error", ""],
    row: (job) => {
      const { id, name, attempts, progress, createdAt, error } = job;
      const buttons = { id, actions: actionsOf(job) };
      return [recordLink(id), name, badge(job), attempts, share(progress), { at: createdAt }, error ?? "", buttons];
    },
    async list({ status, name, before, limit }) {
      if (status && !Object.hasOwn(tones, status)) throw new ValueError(`there is no status "${status}"`);
      return jobsOf().list(name ?? null, status ?? null, limit, before ?? null);
    },
    async get(id) {
      const job = await jobsOf().get(id);
      return job && { job };
    },
    panels: ({ job }) => panelsOf(job),
    async above() {
      const rows = (await jobsOf().names()).map(({ name, waiting, running, failed, paused }) => [
        name,
        paused ? { text: "paused", tone: "warning" as const, badge: true } : "",
        waiting,
        running,
        failed,
        jobsOf().limits.get(name) ?? "",
        { id: name, actions: [paused ? "resume" : "pause"] },
      ]);
      const columns = ["Name", "", "Waiting", "Running", "Failed", "Limit", ""];
      return [{ title: "Names", tables: [{ columns, rows, empty: "No jobs are declared." }] }];
    },
    actions: {
      pause: (name) => jobsOf().pause(name),
      resume: (name) => jobsOf().resume(name),
      retry: done("retried", (id) => jobsOf().retry(id)),
      cancel: done("cancelled", (id) => jobsOf().cancel(id)),
    },
  });
}

function panelsOf(job: JobInfo): LivePanel[] {
  const { id, key, name, attempts, priority, progress, error, value, createdAt, runAt, startedAt, finishedAt } = job;
  const times = { Created: createdAt, Due: runAt, "Last attempt": startedAt, Ended: finishedAt };
  return [
    {
      title: name,
      badge: badge(job),
      about: key === null ? id : `${id} · ${key}`,
      actions: { id, names: actionsOf(job) },
      facts: [
        ...Object.entries(times).flatMap(([label, at]) => (at === null ? [] : [{ label, value: { at } }])),
        { label: "Attempts", value: attempts },
        { label: "Priority", value: priority },
        ...(progress === null ? [] : [{ label: "Progress", value: share(progress) }]),
      ],
      error,
    },
    { title: "Value", texts: [JSON.stringify(value, null, 2)] },
    ...(progress === null ? [] : [{ title: "Progress", texts: [JSON.stringify(progress, null, 2)] }]),
  ];
}

function badge({ running, status }: JobInfo) {
  return { text: running ? "running" : status, tone: running ? ("info" as const) : tones[status], badge: true };
}

function actionsOf({ status }: JobInfo): readonly string[] {
  return status === "waiting" ? ["cancel"] : status === "failed" || status === "cancelled" ? ["retry"] : [];
}

/** A number from 0 to 1, or `{ done, total }`, is drawn. */
function share(progress: unknown): LiveCell {
  if (progress === null || progress === undefined) return "";
  const { done, total } = progress as { done?: number; total?: number };
  const part = typeof progress === "number" ? progress : done! / total!;
  return part >= 0 && part <= 1 ? { share: part } : JSON.stringify(progress).slice(0, 60);
}
