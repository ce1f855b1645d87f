import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import type { Database, Queries } from "../../engines/db/database.js";
import type { Logger } from "../../internal/logger.js";
import { nodeCrypto } from "../../internal/node-modules.js";
import { show } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import { toIssues, ValidationError } from "../../validation/issues.js";
import { Doorbell } from "../storage/doorbell.js";
import { LeasedWorker } from "../storage/leased-worker.js";
import { deleteFinished } from "../storage/retention.js";
import { installTables } from "../storage/tables.js";
import { jsonText } from "../storage/texts.js";
import { SagaAdmin } from "./admin.js";
import type { SagaConfig } from "./config.js";
import type { SagaDefinition } from "./definition.js";
import { Driver } from "./driver.js";
import { type SagaRow, SagaStorage } from "./storage.js";
import { sagaTables } from "./tables.js";

/** Milliseconds that steps in progress have at the end of the application. */
const drainGrace = 10_000;
const sweepInterval = 600_000;

export interface StartOptions {
  /** The id of the execution. A second start with the same id and input is the same execution. Default: a random one. */
  readonly id?: string | undefined;
  /** The transaction to take part in: the saga begins if it is committed. Default: the one around the caller. */
  readonly tx?: Queries | undefined;
}

/** The sagas of one process: their definitions, the worker that drives them, and the calls that manage them. */
export class Sagas {
  readonly admin: SagaAdmin;
  readonly #definitions = new Map<string, SagaDefinition>();
  readonly #storage: SagaStorage;
  readonly #doorbell: Doorbell;
  #worker: LeasedWorker<SagaRow> | null = null;
  #sweeping: NodeJS.Timeout | null = null;

  constructor(
    readonly db: Database,
    readonly config: SagaConfig,
    readonly logger: Logger,
    definitions: Iterable<SagaDefinition>,
  ) {
    const owner = `${hostname()} ${process.pid} ${nodeCrypto().randomUUID()}`;
    this.#storage = new SagaStorage(db, config.schema, owner, config.leaseMs);
    this.#doorbell = new Doorbell(db, `${config.schema}_sagas`, logger);
    this.admin = new SagaAdmin(db, config.schema, () => this.#doorbell.ring());
    for (const definition of definitions) this.add(definition);
  }

  add(definition: SagaDefinition): void {
    const key = `${definition.name} ${definition.version}`;
    const known = this.#definitions.get(key);
    if (known !== undefined && known !== definition) throw new ValueError(`there are two sagas ${show(key)}`);
    this.#definitions.set(key, definition);
    this.#worker?.wake();
  }

  async open(): Promise<void> {
    await installTables(this.db, this.config.schema, sagaTables);
    await this.#doorbell.open();
    const { concurrency, leaseMs, pollMs } = this.config;
    const known = (): SagaDefinition[] => [...this.#definitions.values()];
    this.#worker = new LeasedWorker<SagaRow>(
      { name: "sagas", concurrency, leaseMs, pollMs },
      {
        claim: async (limit) => (this.#definitions.size === 0 ? [] : this.#storage.claim(known(), limit)),
        renew: (items) => this.#storage.renew(items),
        nextDue: async () => (this.#definitions.size === 0 ? null : this.#storage.nextDue(known())),
        run: (row, signals) => {
          const definition = this.#definitions.get(`${row.name} ${row.version}`)!;
          return new Driver(definition, row, this.#storage, this.config, signals, this.logger).drive();
        },
      },
      this.logger,
    );
    this.#doorbell.onRing(this.#worker.wake);
    this.#sweeping = setInterval(() => void this.#sweep(), sweepInterval).unref();
    void this.#sweep();
  }

  async start(definition: SagaDefinition, given: unknown, options: StartOptions = {}): Promise<string> {
    const { id = nodeCrypto().randomUUID(), tx = this.db.current } = options;
    if (typeof id !== "string" || id === "" || id.length > 200 || id.includes("\0")) {
      throw new ValueError(`the id of a saga must be a string of 1 to 200 characters, not ${show(id)}`);
    }
    if (!this.#definitions.has(`${definition.name} ${definition.version}`)) {
      throw new ValueError(`the saga ${show(definition.name)} is not known: call app.saga() with it`);
    }
    const input = jsonText(await checked(definition, given), `the input of the saga ${show(definition.name)}`);
    const { name, version } = definition;
    const timeoutMs = definition.timeoutMs ?? this.config.timeoutMs;
    const found = await this.#storage.insert({ id, name, version, input, timeoutMs }, tx);
    if (found.name !== name || !found.same) {
      throw new ValueError(`there is a saga with the id ${show(id)} already, with another name or input`);
    }
    if (found.isNew) this.#doorbell.ringAfter(tx);
    return id;
  }

  /** Waits until a saga has ended or is parked; null if the time is over first. */
  async wait(id: string, timeoutMs: number, signal: AbortSignal | undefined) {
    const end = performance.now() + timeoutMs;
    for (let pause = 5; ; pause = Math.min(pause * 2, 100)) {
      const found = await this.admin.get(id);
      if (found !== null && (found.finishedAt !== null || found.status === "parked")) return found;
      if (performance.now() >= end || signal?.aborted) return null;
      await delay(pause);
    }
  }

  async drain(): Promise<void> {
    if (this.#sweeping !== null) clearInterval(this.#sweeping);
    await this.#worker?.drain(drainGrace);
    // Sagas that were handed over can begin elsewhere at once.
    if (this.#worker !== null) this.#doorbell.ring();
  }

  async close(): Promise<void> {
    await this.#doorbell.close();
  }

  async #sweep(): Promise<void> {
    const { retentionDays: days, retentionCount: count } = this.config;
    try {
      await deleteFinished(this.db, this.#storage.table, { days, count });
    } catch (error) {
      this.logger.warn("finished sagas were not deleted", { error });
    }
  }
}

async function checked({ input }: SagaDefinition, given: unknown): Promise<unknown> {
  if (input === undefined) return given;
  const result = await input["~standard"].validate(given);
  if (result.issues) throw new ValidationError(toIssues("input", result.issues, given));
  return result.value;
}
