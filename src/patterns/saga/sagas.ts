import { Doorbell } from "../../durable/doorbell.js";
import { gateOf } from "../../durable/gate.js";
import { LeasedWorker } from "../../durable/leased-worker.js";
import { LowMark } from "../../durable/low-mark.js";
import { newOwner, pulseOf } from "../../durable/pulse.js";
import { addingSpan, inSpan } from "../../durable/stored-trace.js";
import { installTables } from "../../durable/tables.js";
import { jsonText } from "../../durable/texts.js";
import type { Database, Queries } from "../../engines/db/database.js";
import type { Logger } from "../../kit/logger.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { show } from "../../kit/options.js";
import { poll } from "../../kit/time/backoff.js";
import { milliseconds } from "../../kit/time/duration.js";
import type { Tracer } from "../../kit/tracer.js";
import { ValueError } from "../../kit/value-error.js";
import { SagaAdmin } from "./admin.js";
import type { SagaConfig } from "./config.js";
import type { SagaDefinition } from "./definition.js";
import { drive } from "./drive/driver.js";
import { type DriverParts, sagaName } from "./drive/execution.js";
import { checkedInput } from "./drive/run-wait.js";
import { SagaConflictError } from "./errors.js";
import { attributesText } from "./info.js";
import type { SagaRow } from "./row.js";
import { type NewSaga, SagaStorage, type StartOptions, startOptions } from "./storage.js";
import { Sweeper } from "./sweeper.js";
import { sagaTables } from "./tables.js";
import { WaitStorage } from "./wait-storage.js";

/** Milliseconds that steps in progress have at the end of the application. */
const drainGrace = 10_000;

/** The sagas of one process: their definitions, the worker that drives them, and the calls that manage them. */
export class Sagas {
  readonly admin: SagaAdmin;
  readonly storage: SagaStorage;
  readonly waits: WaitStorage;
  readonly #definitions = new Map<string, SagaDefinition>();
  readonly #doorbell: Doorbell;
  readonly #sweeper: Sweeper;
  #worker: LeasedWorker<SagaRow> | null = null;
  #leave: (() => Promise<void>) | null = null;

  constructor(
    readonly db: Database,
    readonly config: SagaConfig,
    readonly logger: Logger,
    readonly tracer: Tracer | null,
    definitions: Iterable<SagaDefinition>,
  ) {
    const owner = newOwner();
    this.storage = new SagaStorage(db, config.schema, owner, milliseconds(config.lease));
    this.waits = new WaitStorage(this.storage);
    this.#doorbell = new Doorbell(db, `${config.schema}_sagas`, logger);
    this.admin = new SagaAdmin(this);
    this.#sweeper = new Sweeper(this.storage, config, logger, () => this.definitions);
    for (const definition of definitions) this.add(definition);
  }

  get definitions(): SagaDefinition[] {
    return [...this.#definitions.values()];
  }

  /** Adds a definition and those of its children; returns the ones that were not known. */
  add(definition: SagaDefinition): SagaDefinition[] {
    const added: SagaDefinition[] = [];
    for (const one of definition.family()) {
      const key = `${one.name} ${one.version}`;
      const known = this.#definitions.get(key);
      if (known !== undefined && known !== one) throw new ValueError(`there are two sagas ${show(key)}`);
      if (known === undefined) added.push(one);
      this.#definitions.set(key, one);
    }
    if (this.#worker !== null && added.length > 0) {
      void this.#sweeper.unparkSoon(added).then(this.#worker.wake);
      this.#worker.wake();
    }
    return added;
  }

  async open(): Promise<void> {
    await installTables(this.db, this.config.schema, sagaTables);
    await this.#doorbell.open();
    const { schema, concurrency, maxRetries, maxLost, timeoutMs } = this.config;
    const { leaseMs, owner } = this.storage;
    const parts: DriverParts = {
      storage: this.storage,
      waits: this.waits,
      settings: { maxRetries, maxLost, timeoutMs, backoffMs: milliseconds(this.config.backoff) },
      logger: this.logger,
      tracer: this.tracer,
      ring: this.ring,
    };
    await this.#sweeper.unpark(this.definitions);
    const running = (): string[] => this.#worker?.running() ?? [];
    this.#leave = await pulseOf(this.db, this.logger).join({ schema, leaseMs, owner, running });
    const mark = new LowMark(() => this.storage.lowest(this.definitions));
    this.#worker = new LeasedWorker<SagaRow>(
      { name: "sagas", concurrency, leaseMs, pollMs: milliseconds(this.config.poll), gate: gateOf(this.db) },
      {
        claim: async (limit, inProgress) =>
          this.#definitions.size === 0
            ? []
            : mark.claim((low) => this.storage.claim(this.definitions, limit, inProgress, low)),
        renew: (items) => this.storage.renew(items),
        nextDue: async () => (this.#definitions.size === 0 ? null : this.storage.nextDue(this.definitions, mark.low)),
        run: (row, signals, end) =>
          void drive(this.#definitions.get(`${row.name} ${row.version}`)!, row, parts, signals).then(
            end,
            (error: unknown) => end(true, error ?? new Error("a saga failed without an error")),
          ),
        describe: sagaName,
      },
      this.logger,
    );
    this.#doorbell.onRing(this.#worker.wake);
    this.#sweeper.start();
  }

  readonly ring = (): void => this.#doorbell.ring();

  ringAfter(tx: Queries): void {
    this.#doorbell.ringAfter(tx);
  }

  async start(definition: SagaDefinition, given: unknown, options?: StartOptions): Promise<string> {
    const { id: givenId, tx = this.db.current } = startOptions.read([options]);
    const id = givenId ?? nodeCrypto().randomUUID();
    if (this.#definitions.get(`${definition?.name} ${definition?.version}`) !== definition) {
      throw new ValueError(`the saga ${show(definition?.name)} is not known: call app.saga() with it`);
    }
    const checked = await checkedInput(definition, given);
    const input = jsonText(checked, "the input of the saga", definition.name);
    const attributes = attributesText(definition, checked);
    const { name, version, steps } = definition;
    const timeoutMs = definition.timeoutMs ?? this.config.timeoutMs;
    const added = { id, givenId: givenId !== undefined, name, version, steps, input, timeoutMs, attributes };
    if (this.tracer === null) await this.#insert(added, tx);
    else {
      const span = addingSpan(this.tracer, "start", name);
      const insert = () => this.#insert({ ...added, trace: span.headers() }, tx);
      await inSpan(span, insert, () => id);
    }
    return id;
  }

  async #insert(added: NewSaga, tx: Queries): Promise<void> {
    const found = await this.storage.insert(added, tx);
    if (found.name !== added.name || !found.same) throw new SagaConflictError(added.id);
    if (found.isNew) this.#doorbell.ringAfter(tx);
  }

  /** Waits until a saga has ended or is parked; null if the time is over first. */
  wait(id: string, timeoutMs: number, signal: AbortSignal | undefined) {
    const ended = async () => {
      const found = await this.admin.get(id);
      return found !== null && (found.finishedAt !== null || found.status === "parked") ? found : null;
    };
    return poll(ended, { first: 5, longest: 100, timeoutMs, signal });
  }

  /** The names of sagas of this program that are due or in progress. */
  async due(): Promise<string[]> {
    const rows = await this.db.fetch<{ name: string }>(
      `select distinct name from ${this.storage.sagas}
       where finished_at is null and status <> 'parked' and wake_at <= clock_timestamp() and name = any ($1)`,
      [this.definitions.map(({ name }) => name)],
    );
    return rows.map(({ name }) => `saga '${name}'`);
  }

  /** Changes the stored times as if so many milliseconds had passed; for tests. */
  async pass(ms: number): Promise<void> {
    const earlier = ["wake_at", "wait_until", "waiting_since", "deadline"]
      .map((column) => `${column} = ${column} - $1::float8 * interval '1 millisecond'`)
      .join(", ");
    await this.db.execute(`update ${this.storage.sagas} set ${earlier} where finished_at is null`, [ms]);
    this.#doorbell.ring();
  }

  async drain(): Promise<void> {
    this.#sweeper.stop();
    await this.#worker?.drain(drainGrace);
    // Sagas that were handed over can begin elsewhere at once.
    if (this.#worker !== null) this.#doorbell.ring();
  }

  async close(): Promise<void> {
    await this.#leave?.();
    await this.#doorbell.close();
  }
}
