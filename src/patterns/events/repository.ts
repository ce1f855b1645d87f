import type { Queries } from "../../engines/db/database.js";
import type { AggregateClass, AnyAggregate } from "./aggregate.js";
import type { Decider } from "./decider.js";
import type { EventMap } from "./event.js";
import { categoryOfClass, streamOf } from "./names.js";
import type { OpenedStore } from "./opened-store.js";
import type { AppendResult, Decision, SaveOptions, UpdateOptions } from "./options.js";
import type { AggregateWork, DeciderWork } from "./repository-work.js";

/** Loads and saves aggregates of one class. */
export class Repository<A extends AnyAggregate> {
  readonly #opened: () => OpenedStore;
  readonly #type: AggregateClass<A>;
  readonly #category: string;
  #known: AggregateWork<A> | null = null;

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

  /** The aggregate; throws `AggregateNotFound` if it has no events. */
  async load(id: string, options: { readonly tx?: Queries | undefined } = {}): Promise<A> {
    return this.#work.load(id, options);
  }

  /** The aggregate; null if it has no events. */
  async find(id: string, options: { readonly tx?: Queries | undefined } = {}): Promise<A | null> {
    return this.#work.find(id, options);
  }

  /** Stores the pending events; throws `ConcurrencyError` if others were stored since it was loaded. */
  async save(aggregate: A, options: SaveOptions = {}): Promise<AppendResult> {
    return this.#work.save(aggregate, options);
  }

  /** Loads, changes and saves; again if another writer was faster. The function may run several times. */
  async update<T>(id: string, change: (aggregate: A) => T | Promise<T>, options: UpdateOptions = {}): Promise<T> {
    return this.#work.update(id, change, options);
  }

  get #work(): AggregateWork<A> {
    return (this.#known ??= this.#opened().aggregates(this.#type, this.#category));
  }
}

/** Runs the commands of one decider. */
export class DeciderRepository<State, Command, Events extends EventMap> {
  readonly #opened: () => OpenedStore;
  readonly #decider: Decider<State, Command, Events>;
  #known: DeciderWork<State, Command, Events> | null = null;

  /** @internal */
  constructor(opened: () => OpenedStore, decider: Decider<State, Command, Events>) {
    this.#opened = opened;
    this.#decider = decider;
  }

  stream(id: string): string {
    return streamOf(this.#decider.category, id);
  }

  /** The state; that of `initial()`, with version 0, if there are no events. */
  async load(
    id: string,
    options: { readonly tx?: Queries | undefined } = {},
  ): Promise<{ state: State; version: number }> {
    return this.#work.load(id, options);
  }

  /** Decides on a command and stores the events; again if another writer was faster. */
  async handle(
    id: string,
    command: Command,
    options: SaveOptions & { readonly retries?: number | undefined } = {},
  ): Promise<Decision<State, Events>> {
    return this.#work.handle(id, command, options);
  }

  get #work(): DeciderWork<State, Command, Events> {
    return (this.#known ??= this.#opened().decisions(this.#decider));
  }
}
