import type { BrokerName } from "../../engines/messaging/broker.js";
import type { Logger } from "../../internal/logger.js";
import type { LeaseState, OutboxStorage, Settlement } from "./storage.js";

const nothing: Settlement = { published: [], failed: [], held: [] };

/**
 * The right to publish the messages of one broker. One process has it at a time, by the clock of the database. Each claim
 * has a higher token than the one before.
 *
 * The end of the lease is also known here, by a clock that goes on while the process is paused: a process that was paused
 * for too long publishes nothing more.
 */
export class RelayLease {
  readonly #storage: OutboxStorage;
  readonly #broker: BrokerName;
  readonly #owner: string;
  readonly #leaseMs: number;
  readonly #logger: Logger;
  readonly #heartbeat: NodeJS.Timeout;
  #token: number | null = null;
  #heldUntil = 0;
  #renewing = false;

  constructor(storage: OutboxStorage, broker: BrokerName, owner: string, leaseMs: number, logger: Logger) {
    this.#storage = storage;
    this.#broker = broker;
    this.#owner = owner;
    this.#leaseMs = leaseMs;
    this.#logger = logger;
    this.#heartbeat = setInterval(() => void this.#renew(), leaseMs / 3);
  }

  /** True while no other process can have the lease. */
  get held(): boolean {
    return this.#token !== null && performance.now() < this.#heldUntil;
  }

  async acquire(): Promise<boolean> {
    const before = performance.now();
    this.#token = await this.#storage.acquire(this.#broker, this.#owner, this.#leaseMs);
    this.#heldUntil = before + this.#leaseMs;
    return this.held;
  }

  /** Records the outcome of a batch. Null, and nothing is recorded, if another process has the lease by now. */
  async settle(settlement: Settlement): Promise<LeaseState | null> {
    const token = this.#token;
    if (token === null) return null;
    const before = performance.now();
    const state = await this.#storage.settle(this.#broker, token, this.#leaseMs, settlement);
    if (this.#token !== token) return null;
    if (state.held) this.#heldUntil = Math.max(this.#heldUntil, before + this.#leaseMs);
    else this.#token = null;
    return state.held ? state : null;
  }

  /** Gives the lease to whoever asks next. */
  async release(): Promise<void> {
    const token = this.#token;
    this.#token = null;
    if (token === null) return;
    await this.#storage
      .release(this.#broker, token)
      .catch((error: unknown) => this.#logger.debug("the lease of the outbox was not released", { error }));
  }

  async close(): Promise<void> {
    clearInterval(this.#heartbeat);
    await this.release();
  }

  async #renew(): Promise<void> {
    const recent = this.#heldUntil - performance.now() > (this.#leaseMs * 2) / 3;
    if (this.#token === null || this.#renewing || recent) return;
    this.#renewing = true;
    try {
      await this.settle(nothing);
    } catch (error) {
      this.#logger.warn("the lease of the outbox was not renewed", { broker: this.#broker, error });
    } finally {
      this.#renewing = false;
    }
  }
}
