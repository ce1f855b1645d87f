import { nodeCrypto } from "../../kit/node-modules.js";
import { ValueError } from "../../kit/value-error.js";
import type { EventMap, NewEvent, PlainEvent } from "./event.js";
import { checkName } from "./names.js";
import type { PersonalFieldsOf } from "./personal/personal.js";

/**
 * The base class of aggregates. Methods check the rules and call `emit`; `apply` changes the fields and does nothing
 * else, as it also runs for the events of the past.
 */
export abstract class Aggregate<Events extends EventMap = EventMap> {
  /** The category of its streams. Default: the name of the class, with a small first letter. */
  static readonly category?: string;
  /** To be raised when the fields change their meaning: older snapshots are then ignored. Default 1. */
  static readonly snapshotVersion: number = 1;

  readonly #id: string;
  #version = 0;
  #pending: NewEvent<Events>[] = [];

  /** The types of its events, for the compiler alone. */
  declare readonly eventTypes?: Events;

  constructor(id: string) {
    checkName("the id of an aggregate", id);
    this.#id = id;
  }

  /** Changes the fields by an event. It must neither fail nor do anything else. */
  abstract apply(event: PlainEvent<Events>): void;

  get id(): string {
    return this.#id;
  }

  /** The number of its stored events. */
  get version(): number {
    return this.#version;
  }

  /** Events that are not stored yet. */
  get pending(): readonly NewEvent<Events>[] {
    return this.#pending;
  }

  /** Adds an event and applies it. */
  protected emit<Type extends keyof Events & string>(
    type: Type,
    ...[data]: undefined extends Events[Type] ? [data?: Events[Type]] : [data: Events[Type]]
  ): void {
    // The id is made here, so that the same events saved twice are stored once.
    this.#pending.push({ type, data, id: nodeCrypto().randomUUID() } as unknown as NewEvent<Events>);
    Aggregate.replay(this as unknown as Aggregate, this.#version, [{ type, data }]);
  }

  /** The state that a snapshot keeps. Default: the fields; all must be plain JSON values. */
  toSnapshot(): unknown {
    return { ...this };
  }

  /** Restores the state of a snapshot. */
  fromSnapshot(state: unknown): void {
    Object.assign(this, state);
  }

  /** @internal */
  static replay(aggregate: Aggregate, version: number, events: readonly PlainEvent[]): void {
    if (typeof aggregate.apply !== "function") {
      throw new ValueError(`${aggregate.constructor.name} has no apply(event): it changes the fields by an event`);
    }
    for (const event of events) aggregate.apply(event);
    aggregate.#version = version;
  }

  /** @internal */
  static stored(aggregate: Aggregate, version: number, count: number): void {
    aggregate.#version = version;
    aggregate.#pending = aggregate.#pending.slice(count);
  }
}

/** An aggregate, whatever its events. */
export interface AnyAggregate {
  readonly id: string;
  readonly version: number;
  readonly pending: readonly { readonly type: string }[];
  apply(event: never): void;
  toSnapshot(): unknown;
  fromSnapshot(state: unknown): void;
}

/** The class of an aggregate. */
export interface AggregateClass<A extends AnyAggregate> {
  new (id: string): A;
  readonly name: string;
  readonly category?: string;
  readonly snapshotVersion: number;
  /** Fields of its events that are stored encrypted, with a key for each person. */
  readonly personal?: PersonalFieldsOf<EventsOf<A>>;
}

/** The events of an aggregate. */
export type EventsOf<A> = A extends { readonly eventTypes?: infer Events } ? NonNullable<Events> : never;
