export interface RoomMessage {
  readonly id: string;
  readonly data: unknown;
}

export interface RoomMember {
  readonly id: string;
  /** The value given to `join` or `stream`. */
  readonly info: unknown;
}

export interface RoomMembers {
  /** All clients in the room. */
  readonly count: number;
  /** As many of them as `maxListed` allows. */
  readonly members: readonly RoomMember[];
}

/** A room: everybody in it gets what is sent to it, in the same order. */
export interface Room {
  readonly name: string;
  /** Sends a value as JSON to everybody in the room; a string is sent as it is. Returns the id of the message. */
  send(value: unknown): Promise<string>;
  /** The clients in the room. */
  members(): Promise<RoomMembers>;
  /** The messages that are kept, oldest first; with an id those after it. */
  history(after?: string): Promise<RoomMessage[]>;
}
