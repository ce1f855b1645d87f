import type { LiveFact, LivePanel, LiveTable } from "../../console/panels.js";
import type { Subscription } from "../../engines/messaging/consume/consumer.js";
import type { Messaging } from "../../engines/messaging/messaging.js";
import type { OutboxEngine } from "./outbox.js";

/** The messages of this process on the live page, and the outbox of all. */
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
      const lag = await consumer.lag().catch(() => null);
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
