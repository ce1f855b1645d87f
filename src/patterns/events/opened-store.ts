import { boundedTransaction } from "../../durable/bounded-transaction.js";
import type { Database, Queries, Transaction } from "../../engines/db/database.js";
import type { Logger } from "../../kit/logger.js";
import { ValueError } from "../../kit/value-error.js";
import { expectedNumber, readEvents } from "./append-input.js";
import { noteAppend } from "./cause.js";
import type { EventSourcingConfig } from "./config.js";
import { ConcurrencyError, EventIdError, StreamArchivedError } from "./errors.js";
import { categoryOf, type EventMetadata, type NewEvent, type RecordedEvent } from "./event.js";
import type { EventMonitor } from "./monitor.js";
import { checkName } from "./names.js";
import type { AppendResult, AppendSettings } from "./options.js";
import type { PersonalFields } from "./personal/personal.js";
import type { PersonalData } from "./personal/personal-data.js";
import type { SubjectKeys } from "./personal/subject-keys.js";
import { Snapshots } from "./snapshots.js";
import type { AppendOutcome, EventStorage, EventToStore, ExpectedNumber } from "./storage/storage.js";
import type { Upcasters } from "./upcasters.js";

/** The projections that take part in the transactions of appends. */
export interface InlineProjections {
  readonly db: Database;
  projectionsFor(category: string, types: readonly string[]): readonly InlineProjection[];
}

interface InlineProjection {
  /** Resolves when the tables exist. */
  prepare(): Promise<void>;
  holdInline(tx: Transaction): Promise<(events: readonly RecordedEvent[]) => Promise<void>>;
}

/** The parts of the event store that need a storage. They are loaded at the start of applications that have enabled it. */
export class OpenedStore {
  constructor(
    readonly storage: EventStorage,
    readonly config: EventSourcingConfig,
    readonly upcasters: Upcasters,
    readonly logger: Logger,
    /** Null where no secrets for personal data were given. */
    readonly personal: PersonalData | null = null,
    /** Null where events are in memory. */
    readonly inline: InlineProjections | null = null,
  ) {
    if (personal !== null) upcasters.opener = (events) => personal.open(events);
  }

  /** Null where neither metrics nor spans are enabled. */
  monitor: EventMonitor | null = null;
  /** The position up to which a policy has been applied: the events before it are not read again by this process. */
  readonly #archivedUpTo = new Map<object, number>();

  async append(stream: string, events: readonly NewEvent[], options: AppendSettings): Promise<AppendResult> {
    checkName("a stream", stream);
    if (this.monitor === null) return this.#append(stream, events, options, null);
    const { length } = events;
    return this.monitor.append(categoryOf(stream), length, (trace) => this.#append(stream, events, options, trace));
  }

  async #append(
    stream: string,
    events: readonly NewEvent[],
    { expectedVersion, metadata, tx }: AppendSettings,
    trace: EventMetadata | null,
  ): Promise<AppendResult> {
    const ready = readEvents(
      this.personal === null ? events : await this.personal.seal(stream, events),
      metadata,
      this.upcasters,
      trace,
    );
    const expected = expectedNumber(expectedVersion);
    const { outcome, version, position } = await this.#store(stream, expected, ready, tx);
    if (outcome === "conflict") this.monitor?.conflict();
    if (outcome === "stored") this.monitor?.appended(ready.length);
    if (outcome === "conflict") throw new ConcurrencyError(stream, expectedVersion, version);
    if (outcome === "archived") throw new StreamArchivedError(stream);
    if (outcome === "mixed") {
      throw new EventIdError("some of the ids are in the store already, in another stream or with other events");
    }
    noteAppend(position);
    return { version, position, known: outcome === "known" };
  }

  /** Stores events, and handles them in the same transaction where projections ask for that. */
  async #store(
    stream: string,
    expected: ExpectedNumber,
    events: readonly EventToStore[],
    tx: Queries | undefined,
  ): Promise<AppendOutcome> {
    const types = this.inline === null ? [] : events.map(({ type }) => type);
    const inline = this.inline?.projectionsFor(categoryOf(stream), types) ?? [];
    if (inline.length === 0) return this.storage.append(stream, expected, events, tx);
    const around = tx ?? this.inline!.db.current;
    // Not in a transaction: the tables may need the connection that it has.
    if (around.kind === "database") for (const projection of inline) await projection.prepare();
    return boundedTransaction(around, async (within) => {
      const handlers = [];
      for (const projection of inline) handlers.push(await projection.holdInline(within));
      const outcome = await this.storage.append(stream, expected, events, within);
      if (outcome.outcome !== "stored") return outcome;
      const range = { from: outcome.version - events.length + 1, limit: events.length };
      const recorded = await this.upcasters.read(await this.storage.readStream(stream, range, within));
      for (const handle of handlers) await handle(recorded);
      return outcome;
    });
  }

  async open(declared: PersonalFields): Promise<void> {
    if (!declared.empty) this.checkPersonal();
    await this.storage.open();
    await this.personal?.keys.open();
  }

  /** Throws where personal fields would be stored in the clear. */
  checkPersonal(): void {
    if (this.personal === null) {
      throw new ValueError("personal fields need option 'personalKeys' of enableEventSourcing()");
    }
  }

  /** Archives the streams that the policies name; returns their number. */
  async applyArchivePolicies(signal?: AbortSignal): Promise<number> {
    let total = 0;
    for (const policy of this.config.archive) {
      let failed = false;
      for (let position = this.#archivedUpTo.get(policy) ?? 0, end = false; !end; ) {
        const part = await this.storage.finished(policy, position);
        for (const stream of part.streams) {
          if (signal?.aborted) return total;
          try {
            if ((await this.storage.archive(stream)) > 0) total++;
          } catch (error) {
            // The others are not kept waiting.
            this.logger.error("a stream was not archived", { stream, error });
            failed = true;
          }
        }
        ({ upTo: position, end } = part);
        if (!failed) this.#archivedUpTo.set(policy, position);
      }
    }
    return total;
  }

  async close(): Promise<void> {
    await this.personal?.keys.close();
    await this.storage.close();
  }

  get personalKeys(): SubjectKeys {
    if (this.personal === null) throw new Error("personal data need option 'personalKeys' of enableEventSourcing()");
    return this.personal.keys;
  }

  snapshots(category: string, version: number): Snapshots {
    const { snapshotInterval: interval, enableSnapshots: enabled } = this.config;
    return new Snapshots(this.storage, { enabled, interval }, this.logger, category, version);
  }
}
