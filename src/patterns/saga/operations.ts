import { registerHealthCheck } from "../../batteries/health/feature.js";
import { meterOf } from "../../batteries/metrics/feature.js";
import { livePanels } from "../../console/panels.js";
import { showLeases } from "../../durable/lease-panel.js";
import type { Host } from "../../feature/host.js";
import { capitalized } from "../../kit/names.js";
import type { SagaConfig } from "./config.js";
import { addSagaPages } from "./pages.js";
import type { Sagas } from "./sagas.js";

/** The statuses of sagas that have not ended. */
const openStatuses = ["running", "waiting", "compensating", "parked"] as const;

/** Adds what operators see of sagas: pages, health, metrics, a panel of the live page. */
export function prepareSagas(host: Host, config: SagaConfig, sagasOf: () => Sagas): void {
  const { admin: pages, lease } = config;
  if (pages !== undefined) addSagaPages(host, pages, sagasOf);
  registerHealthCheck(
    host,
    "sagas",
    async () => {
      const { admin } = sagasOf();
      const [parked, oldestDueSeconds] = [await admin.parked(), await admin.oldestDueSeconds()];
      const late = oldestDueSeconds > lease * 10;
      if (parked === 0 && !late) return "UP";
      const parts = [
        ...(parked > 0 ? [`${parked} parked`] : []),
        ...(late ? [`the oldest one that is due has waited ${Math.round(oldestDueSeconds)} s`] : []),
      ];
      return { status: "DEGRADED", message: parts.join("; ") };
    },
    { critical: false },
  );
  showLeases(host, "Sagas", { read: () => sagasOf().storage.leases(), path: pages?.path });
  livePanels(host).add("sagas", async () => {
    const { admin } = sagasOf();
    const [{ open, oldestDueSeconds }, latest] = [await admin.counts(), await admin.list({ limit: 10 })];
    return {
      title: "Sagas",
      facts: [
        ...openStatuses.map((status) => {
          const value = open[status] ?? 0;
          return {
            label: capitalized(status),
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
      ...(pages !== undefined && { link: { label: "All sagas", href: pages.path } }),
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
    collect: () => sagasOf().admin.oldestDueSeconds(),
  });
}
