import type { EventMap, PlainEvent } from "./event.js";
import { checkedCategory } from "./names.js";

/** An aggregate as three pure functions: no class, no mutable state. */
export interface Decider<State, Command, Events extends EventMap> {
  readonly category: string;
  /** To be raised when the state changes its meaning: older snapshots are then ignored. Default 1. */
  readonly snapshotVersion?: number;
  initial(): State;
  /** The state after an event. */
  evolve(state: State, event: PlainEvent<Events>): State;
  /** The events that follow from a command; throws if the command is not allowed. */
  decide(state: State, command: Command): readonly PlainEvent<Events>[] | PlainEvent<Events>;
  /** The types of its events, for the compiler alone. */
  readonly eventTypes?: Events;
}

/** Declares the events of a decider, then the decider: `decider<CounterEvents>()({ ... })`. The rest is inferred. */
export function decider<Events extends EventMap>() {
  return <State, Command>(definition: Decider<State, Command, Events>): Decider<State, Command, Events> => {
    checkedCategory(definition.category);
    return definition;
  };
}
