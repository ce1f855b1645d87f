/** A message of a room. Ids of one room grow, by the clock in microseconds. */
export interface StoredMessage {
  readonly id: number;
  /** The value as JSON; before it the id of the client that does not get it, if there is one. See message-text.ts. */
  readonly text: string;
}

export interface StoredHistory {
  /** Oldest first. */
  readonly messages: readonly StoredMessage[];
  /** True if messages that the caller has not seen may have been dropped. */
  readonly isIncomplete: boolean;
}

/** A client in a room. `info` is JSON. */
export interface StoredMember {
  readonly id: string;
  readonly info: string;
}

export interface StoredMembers {
  readonly count: number;
  readonly members: readonly StoredMember[];
}

/** Limits of the messages that a store keeps. */
export interface RoomLimits {
  /** Messages of each room. */
  readonly history: number;
  /** Milliseconds after the last message of a room. */
  readonly keepMs: number;
  /** Rooms whose messages are kept. */
  readonly maxRooms: number;
}

/** The part of an application that a store of rooms talks to. */
export interface RoomListener {
  message(room: string, message: StoredMessage): void;
  /** Messages or changes of a watched room may have been lost. */
  gap(room: string): void;
  /** A client has entered or left a room whose members are watched. */
  changed(room: string, change: "joined" | "left", member: StoredMember): void;
}

/** Rooms: in this process, of all workers, or of all machines. */
export interface RoomStore {
  /** Called once, before all else. */
  open(limits: RoomLimits, listener: RoomListener): void;
  /** Begins to pass the messages of a room to the listener. */
  watch(room: string): void | Promise<void>;
  /** Begins to tell the listener who enters and leaves a watched room, until it is unwatched. */
  watchMembers(room: string): void | Promise<void>;
  unwatch(room: string): void;
  /** Sends to all members of a room. Returns the id of the message. */
  send(room: string, text: string): number | Promise<number>;
  /** The messages after an id that are kept. */
  since(room: string, after: number): StoredHistory | Promise<StoredHistory>;
  enter(room: string, member: StoredMember): void | Promise<void>;
  exit(room: string, id: string): void;
  /** The number of clients in a room, and the first `max` of them. */
  members(room: string, max: number): StoredMembers | Promise<StoredMembers>;
  /** Ends timers and subscriptions. */
  close(): void | Promise<void>;
}
