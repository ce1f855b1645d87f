import { registerHealthCheck } from "../../batteries/health/feature.js";
import { livePageOf } from "../../batteries/live/feature.js";
import { meterOf } from "../../batteries/metrics/feature.js";
import { livePanels } from "../../console/panels.js";
import type { Host } from "../../feature/host.js";
import type { DatabaseConfig } from "./config.js";
import type { PoolDatabase } from "./pool/pool-database.js";
import type { ReplicaStats } from "./replicas/stats.js";

/** Records statements where the log of queries is enabled, and for the live page. */
export async function watchQueries(db: PoolDatabase, config: DatabaseConfig, host: Host): Promise<void> {
  const settings = config.logQueries;
  const development = host.env === "development";
  const live = development && livePageOf(host) !== null;
  if (settings === null && !live) return;
  const [{ requestWork }, { openQueryLog }, { QueryStatistics }, { queriesPanel }] = await Promise.all([
    import("./request-work.js"),
    import("./log/open-log.js"),
    import("./log/statistics.js"),
    import("./log/panel.js"),
  ]);
  if (config.replicaConfigs.length === 0) host.use(requestWork());
  const statistics = live ? new QueryStatistics() : null;
  if (statistics !== null) livePanels(host).add("statements", () => queriesPanel(statistics));
  openQueryLog(db, { settings, development, audience: statistics });
}

/** Lets the reads of a request use replicas until it writes, and shows the state of the replicas to operators. */
export async function prepareReplicas(db: PoolDatabase, host: Host): Promise<void> {
  const { requestWork } = await import("./request-work.js");
  host.use(requestWork());
  const states = (): readonly ReplicaStats[] => db.stats().replicas ?? [];
  registerHealthCheck(
    host,
    "database replicas",
    () => {
      const away = states().filter(({ usable }) => !usable);
      if (away.length === 0) return "UP";
      return { status: "DEGRADED", message: `not used: ${away.map(({ address }) => address).join(", ")}` };
    },
    { critical: false },
  );
  const meter = meterOf(host);
  if (meter === null) return;
  meter.metrics.gauge(meter.named("database_replicas_usable"), {
    help: "Replicas that reads go to.",
    merge: "max",
    collect: () => states().filter(({ usable }) => usable).length,
  });
  meter.metrics.gauge(meter.named("database_replica_lag_seconds"), {
    help: "Time that a replica is behind the primary.",
    labels: ["replica"],
    merge: "max",
    collect(gauge) {
      for (const { address, lagMs } of states()) gauge.set({ replica: address }, lagMs / 1000);
    },
  });
}
