import type { OptionsOf } from "../../kit/config.js";
import { nodeCrypto } from "../../kit/node-modules.js";
import { backoff } from "../../kit/time/backoff.js";
import { sleep } from "../../kit/time/within.js";
import { Aggregate, type AggregateClass, type AnyAggregate } from "./aggregate.js";
import { noteUnchanged } from "./cause.js";
import type { Decider } from "./decider.js";
import { AggregateNotFound, ConcurrencyError } from "./errors.js";
import type { EventMap, PlainEvent } from "./event.js";
import { categoryOfClass, streamOf } from "./names.js";
import type { OpenedStore } from "./opened-store.js";
import {
  type AppendResult,
  type Decision,
  handleOptions,
  type LoadOptions,
  loadOptions,
  type SaveOptions,
  saveOptions,
  type UpdateOptions,
  updateOptions,
} from "./options.js";
import type { Snapshots } from "./snapshots.js";

/** Loads and saves aggregates of one class. */
export class Repository<A extends AnyAggregate> {
  readonly #opened: () => OpenedStore;
  readonly #type: AggregateClass<A>;
  readonly #category: string;
  #snapshots: Snapshots | null = null;

  /** @internal */
  constructor(opened: () => OpenedStore, type: AggregateClass<A>) {
    this.#opened = opened;
    this.#type = type;
    this.#category = categoryOfClass(type);
  }

  /** The name of an aggregate's stream. */
  stream(id: string): string {
    return streamOf(this.#category, id);
  }

  /** The aggregate, as it is or was; throws `AggregateNotFound` if it has no events. */
  async load(id: string, options: LoadOptions = {}): Promise<A> {
    const found = await this.find(id, options);
    if (found === null) throw new AggregateNotFound(this.#category);
    return found;
  }

  /** The aggregate, as it is or was; null if it has no events. */
  async find(id: string, options: LoadOptions = {}): Promise<A | null> {
    const store = this.#opened();
    const aggregate = new this.#type(id);
    const plain = aggregate as unknown as Aggregate;
    const version = await replayStream(store, this.#snapshot(store), this.stream(id), options, {
      restore: (state) => plain.fromSnapshot(state),
      apply: (events) => Aggregate.replay(plain, 0, events),
    });
    if (version === 0) return null;
    Aggregate.replay(plain, version, []);
    return aggregate;
  }

  /** Stores the pending events; throws `ConcurrencyError` if others were stored since it was loaded. */
  async save(aggregate: A, options?: SaveOptions): Promise<AppendResult> {
    const { tx, metadata } = saveOptions.read([options]);
    const store = this.#opened();
    const plain = aggregate as unknown as Aggregate;
    const stream = this.stream(plain.id);
    const pending = plain.pending;
    const before = plain.version;
    if (pending.length === 0) {
      noteUnchanged();
      return { version: before, position: 0, known: true };
    }
    const result = await store.append(stream, pending, { expectedVersion: before, metadata, tx });
    Aggregate.stored(plain, result.version, pending.length);
    if (!result.known && plain.pending.length === 0) {
      this.#snapshot(store).take(stream, before, result.version, pending.at(-1)!.id!, tx, () => plain.toSnapshot());
    }
    return result;
  }

  /** Loads, changes and saves; again if another writer was faster. The function may run several times. */
  async update<T>(id: string, change: (aggregate: A) => T | Promise<T>, options?: UpdateOptions): Promise<T> {
    const { tx, metadata, create, retries } = updateOptions.read([options]);
    return retryConflicts(retries, async () => {
      const found = await this.find(id, { tx });
      if (found === null && !create) throw new AggregateNotFound(this.#category);
      const aggregate = found ?? new this.#type(id);
      const result = await change(aggregate);
      await this.save(aggregate, { tx, metadata });
      return result;
    });
  }

  #snapshot(store: OpenedStore): Snapshots {
    return (this.#snapshots ??= store.snapshots(this.#category, this.#type.snapshotVersion));
  }
}

/** Runs the commands of one decider. */
export class DeciderRepository<State, Command, Events extends EventMap> {
  readonly #opened: () => OpenedStore;
  readonly #decider: Decider<State, Command, Events>;
  #snapshots: Snapshots | null = null;

  /** @internal */
  constructor(opened: () => OpenedStore, decider: Decider<State, Command, Events>) {
    this.#opened = opened;
    this.#decider = decider;
  }

  stream(id: string): string {
    return streamOf(this.#decider.category, id);
  }

  /** The state, as it is or was; that of `initial()`, with version 0, if there are no events. */
  async load(id: string, options: LoadOptions = {}): Promise<{ state: State; version: number }> {
    const store = this.#opened();
    let state = this.#decider.initial();
    const version = await replayStream(store, this.#snapshot(store), this.stream(id), options, {
      restore: (restored) => (state = restored as State),
      apply: (events) => {
        for (const event of events) state = this.#decider.evolve(state, event as unknown as PlainEvent<Events>);
      },
    });
    return { state, version };
  }

  /** Decides on a command and stores the events; again if another writer was faster. */
  async handle(
    id: string,
    command: Command,
    options?: OptionsOf<typeof handleOptions.fields>,
  ): Promise<Decision<State, Events>> {
    const { tx, metadata, retries } = handleOptions.read([options]);
    const store = this.#opened();
    const stream = this.stream(id);
    return retryConflicts(retries, async () => {
      const { state, version } = await this.load(id, { tx });
      const decided = this.#decider.decide(state, command);
      const events = (Array.isArray(decided) ? decided : [decided]) as PlainEvent<Events>[];
      const after = events.reduce((before, event) => this.#decider.evolve(before, event), state);
      if (events.length === 0) {
        noteUnchanged();
        return { state, events, version, position: 0, known: true };
      }
      const stored = events.map(({ type, data }) => ({ type, data, id: nodeCrypto().randomUUID() }));
      const result = await store.append(stream, stored, { expectedVersion: version, metadata, tx });
      this.#snapshot(store).take(stream, version, result.version, stored.at(-1)!.id, tx, () => after);
      return { state: after, events, ...result };
    });
  }

  #snapshot(store: OpenedStore): Snapshots {
    const { category, snapshotVersion = 1 } = this.#decider;
    return (this.#snapshots ??= store.snapshots(category, snapshotVersion));
  }
}

async function retryConflicts<T>(retries: number, run: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof ConcurrencyError) || attempt >= retries) throw error;
    }
    // Writers that collided would collide again if they tried again at the same time.
    await sleep(backoff(attempt, 5, 100));
  }
}

/** Events of an aggregate that are read at a time. */
const replayPage = 2000;

/** Reads a stream to its end, or to a place before it, from a snapshot on if there is one; calls back for both. Returns the version. */
async function replayStream(
  { storage, upcasters }: OpenedStore,
  snapshots: Snapshots,
  stream: string,
  options: LoadOptions,
  target: { restore(state: unknown): void; apply(events: readonly PlainEvent[]): void },
): Promise<number> {
  const { version: last, at, tx: within } = loadOptions.read([options]);
  // A snapshot has no time, and may be newer than the state that is asked for.
  const snapshot = at === undefined ? await snapshots.load(stream, within) : null;
  let version = 0;
  if (snapshot !== null && snapshot.version <= last) {
    target.restore(snapshot.state);
    version = snapshot.version;
  }
  // All of the events up to a time may be in the archive.
  for (let archived = at !== undefined; ; ) {
    const limit = Math.min(replayPage, last - version);
    if (limit === 0) return version;
    const page = await storage.replay(stream, { from: version + 1, limit, archived, at }, within);
    // Earlier events are in the archive, and the snapshot that took their place cannot be used.
    if (!archived && page.length > 0 && page[0]!.version !== version + 1) {
      archived = true;
      continue;
    }
    const events = await upcasters.read(page);
    for (const event of events) {
      if (event.version !== version + 1) throw new Error(`the stream ${stream} has no event ${version + 1}`);
      version = event.version;
    }
    target.apply(events);
    if (page.length < limit) return version;
  }
}
