import type { HealthResult } from "../../batteries/health/check.js";
import type { Meter } from "../../batteries/metrics/feature.js";
import { type LiveFact, type LivePanel, type LiveTable, livePanels } from "../../console/panels.js";
import { showLeases } from "../../durable/lease-panel.js";
import type { Subscription } from "../../engines/messaging/consume/consumer.js";
import type { Messaging } from "../../engines/messaging/messaging.js";
import type { Host } from "../../feature/host.js";
import type { OutboxEngine } from "./outbox.js";

const states = ["ready", "delayed", "failed", "stuck", "held"] as const;

/** DEGRADED while messages are stuck or wait for too long: the application itself continues to serve. */
export async function outboxHealth({ admin, settings }: OutboxEngine): Promise<HealthResult> {
  const { stuck, lag } = await admin.status();
  const reasons = [
    ...(stuck > 0 ? [`${stuck} ${stuck === 1 ? "message is" : "messages are"} stuck`] : []),
    ...(lag > settings.lagLimit ? [`the oldest message has waited for ${Math.round(lag)} s`] : []),
  ];
  return reasons.length === 0 ? "UP" : { status: "DEGRADED", message: reasons.join("; ") };
}

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

/** Adds the panels of messages and of the leases of the outbox. */
export function addPanels(host: Host, messaging: Messaging, outbox: OutboxEngine | null): void {
  if (outbox !== null) showLeases(host, "Outbox, by broker", { read: () => outbox.storage.leases.shown() });
  livePanels(host).add("messages", () => messagesPanel(messaging, outbox));
}

/** The messages of this process, and the outbox of all. */
export async function messagesPanel(messaging: Messaging, outbox: OutboxEngine | null): Promise<LivePanel> {
  const [consumers, backlog] = await Promise.all([consumersTable(messaging.consumers), outbox && outboxParts(outbox)]);
  const facts: LiveFact[] = [
    { label: "Brokers", value: messaging.brokers.join(", ") },
    { label: "Publishes under way", value: messaging.waiting },
  ];
  return {
    title: "Messages",
    facts: [...facts, ...(backlog?.facts ?? [])],
    tables: [consumers, ...(backlog?.tables ?? [])],
  };
}

async function consumersTable(consumers: readonly Subscription[]): Promise<LiveTable> {
  const rows = await Promise.all(
    consumers.map(async (consumer) => {
      const { running, results } = consumer.stats();
      const lag = await shownLag(consumer);
      const state = !consumer.connected ? "not connected" : consumer.paused ? "paused" : "connected";
      const { done, duplicate, retried, requeued, rejected, dead } = results;
      const group = consumer.group.startsWith("broadcast-") ? "broadcast" : consumer.group;
      return [consumer.topic, group, state, lag, running, done, duplicate, retried + requeued, rejected, dead];
    }),
  );
  return {
    title: "Consumers, since the start of this process",
    columns: ["Topic", "Group", "State", "Lag", "Running", "Done", "Duplicates", "Retried", "Rejected", "Dead letters"],
    rows: rows.sort(([a], [b]) => String(a).localeCompare(String(b))),
    empty: "This application consumes no messages.",
  };
}

/** The lag of a consumer, with that of each partition which has one: `12 (0: 5, 3: 7)`. */
async function shownLag(consumer: Subscription): Promise<string | number | null> {
  const partitions = await consumer.lags().catch(() => null);
  if (partitions === null) return consumer.lag().catch(() => null);
  const behind = [...partitions].filter(([, lag]) => lag > 0);
  const sum = behind.reduce((total, [, lag]) => total + lag, 0);
  return sum === 0 ? 0 : `${sum} (${behind.map(([number, lag]) => `${number}: ${lag}`).join(", ")})`;
}

async function outboxParts({ admin, active, settings }: OutboxEngine) {
  const [{ ready, delayed, stuck, held, lag }, failures] = await Promise.all([admin.status(), admin.failures()]);
  const late = lag > settings.lagLimit;
  const facts: LiveFact[] = [
    { label: "Outbox, ready", value: ready },
    { label: "Outbox, lag", value: `${lag.toFixed(1)} s`, tone: late ? "warning" : "good" },
    { label: "Outbox, delayed", value: delayed },
    { label: "Outbox, stuck", value: stuck, tone: stuck > 0 ? "bad" : "good" },
    { label: "Outbox, held behind them", value: held },
    { label: "Outbox, published by this process", value: active.length > 0 ? "yes" : "no" },
  ];
  const table: LiveTable = {
    title: "Messages of the outbox that fail",
    columns: ["Topic", "Failure", "Messages", "Stuck", "Last failure"],
    rows: failures.map((one) => [one.topic, one.failure, one.count, one.stuck, one.last.toISOString()]),
    empty: "No message of the outbox has failed.",
  };
  return { facts, tables: [table] };
}
