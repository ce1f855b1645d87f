import type { Logger } from "../../../kit/logger.js";
import { milliseconds } from "../../../kit/time/duration.js";
import type { DatabaseConfig } from "../config.js";
import type { Execution } from "../pool/execution.js";
import { makePool } from "../pool/open-pool.js";
import { PostgresEngine } from "../postgres/postgres-engine.js";
import type { RequestWork } from "../request-work.js";
import { faultOf } from "./fallback.js";
import { Positions, readPosition } from "./position.js";
import { patience, Replica } from "./replica.js";
import type { ReplicaStats } from "./stats.js";

/** Reads the place of the primary in its log, as text; rejects after so many milliseconds. */
type ReadPrimary = (milliseconds: number) => Promise<unknown>;

/** The replicas of a database, and the choice among them. */
export class Replicas {
  readonly #replicas: readonly Replica[];
  readonly #maxLag: number;
  readonly #readPrimary: ReadPrimary;
  readonly #positions = new Positions();
  /** The time on the monotonic clock at which the place of the primary was last asked for and then read. */
  #knownAt = performance.now();
  #checking = false;
  /** The replica that is looked at first: of several with equal load, each gets its turn. */
  #turn = 0;

  private constructor(replicas: readonly Replica[], maxLag: number, readPrimary: ReadPrimary) {
    this.#replicas = replicas;
    this.#maxLag = maxLag;
    this.#readPrimary = readPrimary;
  }

  /** Connects to the replicas. Those that cannot be reached are used once they can be. */
  static async open(config: DatabaseConfig, logger: Logger | undefined, readPrimary: ReadPrimary): Promise<Replicas> {
    const made = await Promise.all(config.replicaConfigs.map((each) => makeReplica(each, logger)));
    const replicas = new Replicas(made, milliseconds(config.maxReplicaLag), readPrimary);
    await replicas.#check();
    return replicas;
  }

  /** The replica for a read; null if the primary must be asked. A request stays with its replica: another may be behind it. */
  choose(work: RequestWork | null): Replica | null {
    const kept = work?.replica;
    if (kept instanceof Replica) return this.#fits(kept, work) ? kept : null;
    const count = this.#replicas.length;
    let best: Replica | null = null;
    for (let i = 0; i < count; i++) {
      const replica = this.#replicas[(this.#turn + i) % count]!;
      if (this.#fits(replica, work) && (best === null || replica.load < best.load)) best = replica;
    }
    this.#turn = (this.#turn + 1) % count;
    if (work !== null) work.replica = best;
    return best;
  }

  /** True if the primary should be asked after this error of a replica. */
  failed(replica: Replica, execution: Execution, error: unknown): boolean {
    const fault = faultOf(error);
    if (fault === "replica") replica.lost(error);
    if (fault === "statement") execution.info.needsPrimary = true;
    return fault !== null;
  }

  /** Called about twice a second. */
  tick(): void {
    for (const replica of this.#replicas) replica.watch();
    if (!this.#checking) void this.#check();
  }

  stats(): ReplicaStats[] {
    return this.#replicas.map((replica) => ({
      address: replica.address,
      usable: replica.usable && !this.#isLate(replica),
      lagMs: Math.round(replica.lagMs),
    }));
  }

  async close(): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.close()));
  }

  #fits(replica: Replica, work: RequestWork | null): boolean {
    if (!replica.usable || this.#isLate(replica)) return false;
    return work === null || work.position === null || replica.replayed >= work.position;
  }

  /** A replica is late too while nothing tells how far the primary is: it does not respond, or not in time. */
  #isLate(replica: Replica): boolean {
    if (this.#maxLag === 0) return false;
    return replica.lagMs > this.#maxLag || performance.now() - this.#knownAt > this.#maxLag + patience;
  }

  async #check(): Promise<void> {
    this.#checking = true;
    try {
      const asked = performance.now();
      const position = readPosition(await this.#readPrimary(patience).catch(() => null));
      if (position !== null) {
        this.#positions.add(position, performance.now());
        this.#knownAt = asked;
      }
      await Promise.all(this.#replicas.map((replica) => replica.check(this.#positions)));
      this.#forget();
    } finally {
      this.#checking = false;
    }
  }

  /** Replicas that cannot be reached count too: they are behind when they are back. */
  #forget(): void {
    let least: bigint | null = null;
    for (const { replayed } of this.#replicas) if (least === null || replayed < least) least = replayed;
    if (least !== null) this.#positions.forget(least);
  }
}

async function makeReplica(config: DatabaseConfig, logger: Logger | undefined): Promise<Replica> {
  const engine = await PostgresEngine.create({ config, logger, notify: () => {} });
  return new Replica(config, engine, makePool(engine, config), logger);
}
