import { notStarted } from "../../kit/before-start.js";
import type { SettingsOf } from "../../kit/config.js";
import { show } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import type { AggregateClass, AnyAggregate } from "./aggregate.js";
import type { Decider } from "./decider.js";
import type { EventMap, NewEvent, RecordedEvent } from "./event.js";
import { EventReader } from "./event-reader.js";
import { checkName } from "./names.js";
import type { OpenedStore } from "./opened-store.js";
import {
  type AppendOptions,
  type AppendResult,
  appendOptions,
  type ForgetResult,
  type ReadAllOptions,
  type ReadOptions,
  readAllOptions,
  readOptions,
  type TruncateOptions,
  truncateOptions,
  type WaitForOptions,
} from "./options.js";
import { PersonalFields, type PersonalOptions } from "./personal/personal.js";
import type { Projection } from "./projections/projection.js";
import { DeciderRepository, Repository } from "./repository.js";
import { type EventStorage, pageSize, type ReadFilter } from "./storage/storage.js";
import {
  type EventHandler,
  type EventSubscription,
  readSubscription,
  type SubscriptionOptions,
} from "./subscription.js";
import type { RunnerProgress } from "./subscription-runner.js";
import { type Upcast, Upcasters } from "./upcasters.js";
import type { EventWorkers } from "./workers.js";

/** The store of events. It can be used once the application has started; subscriptions can be added before. */
export class EventStore {
  readonly #upcasters = new Upcasters();
  readonly #personalFields = new PersonalFields();
  #opened: OpenedStore | null = null;
  #workers: EventWorkers | null = null;
  readonly #waiting: ((workers: EventWorkers) => void)[] = [];

  /** Stores events at the end of a stream, all or none of them. */
  async append<Events extends EventMap = EventMap>(
    stream: string,
    events: NewEvent<Events> | readonly NewEvent<Events>[],
    options?: AppendOptions,
  ): Promise<AppendResult> {
    const list = (Array.isArray(events) ? events : [events]) as readonly NewEvent[];
    return this.#open().append(stream, list, appendOptions.read([options]));
  }

  /** The events of a stream. Awaited, a list; in `for await`, page by page. */
  read<Events extends EventMap = EventMap>(stream: string, options?: ReadOptions): EventReader<RecordedEvent<Events>> {
    checkName("a stream", stream);
    const { from: first, backwards, limit, archived, tx } = readOptions.read([options]);
    return this.#reader(
      limit,
      first ?? (backwards ? Number.MAX_SAFE_INTEGER : 1),
      (from, count) => this.storage.readStream(stream, { from, backwards, limit: count, archived }, tx),
      (event) => event.version + (backwards ? -1 : 1),
    );
  }

  /** The events of all streams of a category, in the order in which they were stored. */
  readCategory<Events extends EventMap = EventMap>(
    category: string,
    options?: ReadAllOptions,
  ): EventReader<RecordedEvent<Events>> {
    checkName("a category", category);
    return this.#readAll([category], readAllOptions.read([options], "readCategory()"));
  }

  /** All events, in the order in which they were stored. Those of appends that are still under way are left out. */
  readAll<Events extends EventMap = EventMap>(options?: ReadAllOptions): EventReader<RecordedEvent<Events>> {
    return this.#readAll(undefined, readAllOptions.read([options]));
  }

  /** The number of events in a stream. */
  streamVersion(stream: string): Promise<number> {
    return this.storage.streamVersion(stream);
  }

  /**
   * Moves all events of a stream to the archive, and closes the stream: an append to it throws `StreamArchivedError`. Reads
   * with `archived: true` and subscriptions find them. Returns the number of events.
   */
  async archive(stream: string): Promise<number> {
    checkName("a stream", stream);
    return this.storage.archive(stream);
  }

  /** Moves the events of a stream back from the archive, and opens the stream. */
  async restore(stream: string): Promise<number> {
    checkName("a stream", stream);
    return this.storage.restore(stream);
  }

  /**
   * Moves the events of a stream before a version to the archive, or deletes them. The stream must have a snapshot of that
   * version or a later one.
   */
  async truncateBefore(stream: string, version: number, options?: TruncateOptions): Promise<number> {
    const { archive } = truncateOptions.read([options]);
    const { storage } = this;
    checkName("a stream", stream);
    if (!Number.isSafeInteger(version) || version < 1) {
      throw new ValueError(`truncateBefore takes a version of at least 1, not ${show(version)}`);
    }
    const snapshot = await storage.loadSnapshot(stream);
    if (snapshot === null || snapshot.version < version) {
      throw new ValueError(
        `events before version ${version} are needed: the snapshot of the stream is of version ${snapshot?.version ?? 0}`,
      );
    }
    return storage.truncate(stream, version, archive);
  }

  /** Archives the streams that option `archive` names, now. A worker also does that at intervals. */
  async applyArchivePolicies(): Promise<number> {
    return this.#open().applyArchivePolicies();
  }

  /** Declares fields of an event that are stored encrypted, with a key for each person. */
  personal<Events extends EventMap, Type extends keyof Events & string = keyof Events & string>(
    type: Type,
    options: PersonalOptions<Events[Type]>,
  ): this {
    this.#declarePersonal({ [type]: options as unknown as PersonalOptions });
    return this;
  }

  /**
   * Deletes the key of a person: the personal fields of their events can never be read again. Snapshots with them are
   * deleted too. Returns the streams, so that projections can be corrected.
   */
  async forget(subject: string): Promise<ForgetResult> {
    checkName("a subject", subject);
    return { streams: await this.#open().personalKeys.forget(subject) };
  }

  /** Wraps all keys of persons with the first secret of `personalKeys`; afterwards the others can be removed. */
  async rotatePersonalKeys(): Promise<number> {
    return this.#open().personalKeys.rotate();
  }

  /** The repository of a class of aggregates. */
  repository<A extends AnyAggregate>(type: AggregateClass<A>): Repository<A> {
    this.#declarePersonal(type.personal as Record<string, PersonalOptions> | undefined);
    return new Repository(() => this.#open(), type);
  }

  /** The repository of a decider. */
  decider<State, Command, Events extends EventMap>(
    decider: Decider<State, Command, Events>,
  ): DeciderRepository<State, Command, Events> {
    return new DeciderRepository(() => this.#open(), decider);
  }

  /** Adds the step from one version of an event's data to the next; applied when events are read. */
  upcast(type: string, fromVersion: number, upcast: Upcast): this {
    this.#upcasters.add(type, fromVersion, upcast);
    return this;
  }

  /**
   * Calls a function for every event, in order, at least once. Of all workers with a subscription of this name one is
   * active; another one continues from its checkpoint if it ends.
   */
  subscribe<Events extends EventMap = EventMap>(
    options: SubscriptionOptions,
    handler: EventHandler<Events>,
  ): EventSubscription {
    const settings = readSubscription(options, handler as unknown as EventHandler);
    return this.#withWorkers((workers) => workers.subscribe(settings));
  }

  /** Keeps the tables of a projection up to date. */
  project<Events extends EventMap, Tables extends string>(projection: Projection<Events, Tables>): EventSubscription {
    this.#declarePersonal(projection.personal);
    return this.#withWorkers((workers) => workers.project(projection as unknown as Projection));
  }

  /** Builds the tables of a projection again beside those that serve, then puts them in their place. */
  async rebuild(projection: { readonly name: string }): Promise<void> {
    await this.#running().rebuild(projection.name);
  }

  /**
   * Waits until a subscription or a projection has handled the events up to a position: read your own writes. False if
   * the time is over first.
   */
  waitFor(
    target: string | { readonly name: string; readonly tables: readonly string[] },
    position: number,
    options: WaitForOptions = {},
  ): Promise<boolean> {
    return this.#running().waitFor(target, position, options);
  }

  /** @internal The projections that this process keeps. */
  get projections(): readonly Projection[] {
    return this.#workers?.projections ?? [];
  }

  /** @internal */
  get upcasters(): Upcasters {
    return this.#upcasters;
  }

  /** @internal */
  get personalFields(): PersonalFields {
    return this.#personalFields;
  }

  /** @internal */
  get storage(): EventStorage {
    return this.#open().storage;
  }

  /** @internal The subscriptions and projections that this process runs. */
  get progress(): readonly RunnerProgress[] {
    return [...(this.#workers?.progress() ?? [])];
  }

  /** @internal The names of subscriptions and projections of this process that have events to handle. */
  async behind(): Promise<string[]> {
    return (await this.#workers?.behind()) ?? [];
  }

  /** @internal */
  async attach(opened: OpenedStore, workers: EventWorkers): Promise<void> {
    await opened.open(this.#personalFields);
    this.#opened = opened;
    this.#workers = workers;
    for (const begin of this.#waiting.splice(0)) begin(workers);
    if (opened.config.archive.length > 0) {
      workers.archiveAtIntervals((signal) => opened.applyArchivePolicies(signal));
    }
    await workers.open();
  }

  /** @internal */
  async close(): Promise<void> {
    await this.#workers?.close();
    await this.#opened?.close();
  }

  #open(): OpenedStore {
    if (this.#opened === null) throw new Error(notStarted("app.eventStore"));
    return this.#opened;
  }

  #declarePersonal(fields: Readonly<Record<string, PersonalOptions | undefined>> = {}): void {
    if (Object.keys(fields).length > 0) this.#opened?.checkPersonal();
    for (const [type, options] of Object.entries(fields)) this.#personalFields.declare(type, options!);
  }

  #running(): EventWorkers {
    if (this.#workers === null) throw new Error(notStarted("app.eventStore"));
    return this.#workers;
  }

  #withWorkers(begin: (workers: EventWorkers) => EventSubscription): EventSubscription {
    if (this.#workers !== null) return begin(this.#workers);
    let subscription: EventSubscription | null = null;
    let closed = false;
    this.#waiting.push((workers) => {
      if (!closed) subscription = begin(workers);
    });
    const close = async (): Promise<void> => {
      closed = true;
      await subscription?.close();
    };
    return { close, [Symbol.asyncDispose]: close };
  }

  #readAll<Events extends EventMap>(
    categories: readonly string[] | undefined,
    { types, archived, from, backwards, limit }: SettingsOf<typeof readAllOptions.fields>,
  ): EventReader<RecordedEvent<Events>> {
    const filter: ReadFilter = { categories, types, archived };
    let upTo: number | null = null;
    return this.#reader(
      limit,
      from,
      async (after, count) => {
        upTo ??= await this.storage.highWaterMark();
        const [low, high] = backwards ? [from, after === from ? upTo : after - 1] : [after, upTo];
        return this.storage.readAll(filter, low, high, backwards, count);
      },
      (event) => event.position,
    );
  }

  #reader<Events extends EventMap>(
    limit: number,
    first: number,
    readPage: (from: number, count: number) => ReturnType<EventStorage["readStream"]>,
    nextAfter: (event: RecordedEvent) => number,
  ): EventReader<RecordedEvent<Events>> {
    const upcasters = this.#upcasters;
    async function* pages(): AsyncGenerator<RecordedEvent<Events>[]> {
      let from = first;
      for (let left = limit; left > 0; ) {
        const count = Math.min(left, pageSize);
        const page = await readPage(from, count);
        if (page.length > 0) yield (await upcasters.read(page)) as unknown as RecordedEvent<Events>[];
        if (page.length < count) return;
        left -= page.length;
        from = nextAfter(page.at(-1)!);
      }
    }
    return new EventReader(pages);
  }
}
