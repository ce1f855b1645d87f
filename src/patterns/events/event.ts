/** The events of an aggregate by type: `{ OrderPlaced: { customer: string } }`. */
export type EventMap = { readonly [type: string]: unknown };

/** Facts about an event beside its data. */
export interface EventMetadata {
  /** The same for everything that one request or command has set in motion. */
  readonly correlationId?: string | undefined;
  /** The id of the event, command or request that led to this one. */
  readonly causationId?: string | undefined;
  readonly [name: string]: unknown;
}

/** An event before it is stored. */
export type NewEvent<Events extends EventMap = EventMap> = {
  [Type in keyof Events & string]: {
    readonly type: Type;
    readonly data: Events[Type];
    /** A UUID. An event whose id is in the stream already is not stored again. */
    readonly id?: string | undefined;
    readonly metadata?: EventMetadata | undefined;
  };
}[keyof Events & string];

/** An event of the store. */
export type RecordedEvent<Events extends EventMap = EventMap> = {
  [Type in keyof Events & string]: RecordedFields & { readonly type: Type; readonly data: Events[Type] };
}[keyof Events & string];

export interface RecordedFields {
  readonly id: string;
  readonly stream: string;
  /** The part of the stream's name before its first hyphen: `order` of `order-17`. */
  readonly category: string;
  /** The place in its stream; the first event has 1. */
  readonly version: number;
  /** The place among all events. It grows; numbers may be missing. */
  readonly position: number;
  /** The version of its data after upcasting. */
  readonly schemaVersion: number;
  readonly metadata: EventMetadata;
  readonly recordedAt: Date;
}

/** The type and data alone, as `apply` and `evolve` see an event. */
export type PlainEvent<Events extends EventMap = EventMap> = {
  [Type in keyof Events & string]: { readonly type: Type; readonly data: Events[Type] };
}[keyof Events & string];

/** The category of a stream. */
export function categoryOf(stream: string): string {
  const end = stream.indexOf("-");
  return end < 0 ? stream : stream.slice(0, end);
}
