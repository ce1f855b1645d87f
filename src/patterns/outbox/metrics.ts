import type { Meter } from "../../batteries/metrics/feature.js";
import type { OutboxEngine } from "./outbox.js";

const states = ["ready", "delayed", "failed", "stuck", "held"] as const;

/** Shows the backlog. All workers see the same numbers. */
export function measureOutbox({ metrics, named }: Meter, outbox: OutboxEngine): void {
  metrics.gauge(named("outbox_messages"), {
    help: "Messages in the outbox by state; 100000 stands for more.",
    labels: ["state"],
    merge: "max",
    async collect(gauge) {
      const status = await outbox.admin.status().catch(() => null);
      if (status !== null) for (const state of states) gauge.set({ state }, status[state]);
    },
  });
  metrics.gauge(named("outbox_lag_seconds"), {
    help: "Age of the oldest message in the outbox that could be published.",
    merge: "max",
    async collect(gauge) {
      const status = await outbox.admin.status().catch(() => null);
      if (status !== null) gauge.set(status.lag);
    },
  });
  metrics.gauge(named("outbox_relays"), {
    help: "Brokers for which this process publishes the messages of the outbox.",
    collect: () => outbox.active.length,
  });
}
