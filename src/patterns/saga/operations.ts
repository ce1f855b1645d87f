import { registerHealthCheck } from "../../batteries/health/feature.js";
import { livePanels } from "../../batteries/live/panels.js";
import { meterOf } from "../../batteries/metrics/feature.js";
import type { Host } from "../../feature/host.js";
import { addAdmin } from "../admin/add-admin.js";
import { type AdminSettings, readAdminOptions } from "../admin/options.js";
import type { SagaConfig } from "./config.js";
import type { SagaStatus } from "./row.js";
import type { Sagas } from "./sagas.js";

/** The statuses of sagas that have not ended. */
const openStatuses = ["running", "waiting", "compensating", "parked"] as const;

/** Adds what operators see of sagas: pages, health, metrics, a panel of the live page. */
export function prepareSagas(host: Host, config: SagaConfig, sagasOf: () => Sagas): void {
  const options = config.admin === undefined ? null : readAdminOptions(config.admin, "/_sagas");
  if (options !== null) addPages(host, options, sagasOf);
  registerHealthCheck(
    host,
    "sagas",
    async () => {
      const { open, oldestDueSeconds } = await sagasOf().admin.counts();
      const parked = open.parked ?? 0;
      const late = oldestDueSeconds * 1000 > config.leaseMs * 10;
      if (parked === 0 && !late) return "UP";
      const parts = [
        ...(parked > 0 ? [`${parked} parked`] : []),
        ...(late ? [`the oldest one that is due has waited ${Math.round(oldestDueSeconds)} s`] : []),
      ];
      return { status: "DEGRADED", message: parts.join("; ") };
    },
    { critical: false },
  );
  livePanels(host).add("sagas", async () => {
    const { admin } = sagasOf();
    const [{ open, oldestDueSeconds }, latest] = [await admin.counts(), await admin.list({ limit: 10 })];
    return {
      title: "Sagas",
      facts: [
        ...openStatuses.map((status) => {
          const value = open[status] ?? 0;
          return {
            label: `${status.charAt(0).toUpperCase()}${status.slice(1)}`,
            value,
            ...(status === "parked" && value > 0 && { tone: "bad" as const }),
          };
        }),
        { label: "Oldest due", value: `${oldestDueSeconds.toFixed(1)} s` },
      ],
      tables: [
        {
          title: "Latest",
          columns: ["Id", "Name", "Status", "Error"],
          rows: latest.map(({ id, name, status, error }) => [id, name, status, error]),
          empty: "No sagas yet.",
        },
      ],
      ...(options !== null && { link: { label: "All sagas", href: options.path } }),
    };
  });
  const meter = meterOf(host);
  if (meter === null) return;
  // All workers read the same table: their values are one, not a sum.
  meter.metrics.gauge(meter.named("sagas_open"), {
    help: "Sagas that have not ended, by status.",
    labels: ["status"],
    merge: "max",
    async collect(gauge) {
      const { open } = await sagasOf().admin.counts();
      for (const status of openStatuses) gauge.set({ status }, open[status] ?? 0);
    },
  });
  meter.metrics.gauge(meter.named("sagas_oldest_due_seconds"), {
    help: "Time that the oldest saga which is due has waited for a worker.",
    merge: "max",
    collect: async () => (await sagasOf().admin.counts()).oldestDueSeconds,
  });
}

function addPages(host: Host, options: AdminSettings, sagasOf: () => Sagas): void {
  addAdmin(host, options, {
    kind: "sagas",
    enabledBy: "enableSaga",
    async list({ status, name, before, limit }) {
      const items = await sagasOf().admin.list({ status: status as SagaStatus | undefined, name, before, limit });
      return { items, next: items.length < limit ? null : items.at(-1)!.id };
    },
    async detail(id) {
      const { admin, definitions } = sagasOf();
      const saga = await admin.get(id);
      if (saga === null) return null;
      const definition = definitions.find(({ name, version }) => name === saga.name && version === saga.version);
      const plan = (definition?.nodes ?? []).flatMap((node) =>
        node.names.map((name) => ({
          name,
          kind: node.kind === "parallel" ? "step" : node.kind,
          ...(node.kind === "parallel" && { group: node.at }),
        })),
      );
      return { saga, plan, log: await admin.log(id), children: await admin.children(id) };
    },
    actions: {
      resume: (id) => sagasOf().admin.resume(id),
      skip: (id) => sagasOf().admin.skip(id),
      abort: (id) => sagasOf().admin.abort(id),
    },
  });
}
