import { registerHealthCheck } from "../../batteries/health/feature.js";
import { meterOf } from "../../batteries/metrics/feature.js";
import type { Host } from "../../feature/host.js";
import type { SagaConfig } from "./config.js";
import type { Sagas } from "./sagas.js";

/** Adds what operators see of sagas: health, metrics. */
export function prepareSagas(host: Host, config: SagaConfig, sagasOf: () => Sagas): void {
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
  const meter = meterOf(host);
  if (meter === null) return;
  // All workers read the same table: their values are one, not a sum.
  meter.metrics.gauge(meter.named("sagas_open"), {
    help: "Sagas that have not ended, by status.",
    labels: ["status"],
    merge: "max",
    async collect(gauge) {
      const { open } = await sagasOf().admin.counts();
      for (const status of ["running", "waiting", "compensating", "parked"] as const) {
        gauge.set({ status }, open[status] ?? 0);
      }
    },
  });
  meter.metrics.gauge(meter.named("sagas_oldest_due_seconds"), {
    help: "Time that the oldest saga which is due has waited for a worker.",
    merge: "max",
    collect: async () => (await sagasOf().admin.counts()).oldestDueSeconds,
  });
}
