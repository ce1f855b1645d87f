import type { EitherSpelling } from "../../internal/names.js";
import { type Checks, is, readOptions } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";
import type { RoomStore } from "./store.js";

export interface RoomsOptions {
  /** Messages of each room that are kept for clients that come back; 0 for none. Default 100. */
  readonly history?: number;
  /** Seconds after its last message for which the messages of a room are kept. Default 3600. */
  readonly historySecs?: number;
  /** Rooms whose messages are kept; beyond it the least recent go. A key-value store keeps all. Default 10000. */
  readonly maxRooms?: number;
  /** Bytes of one message as JSON. Default 64 KiB. */
  readonly maxMessageSize?: number;
  /** Bytes that may wait for one client to take them. Default 256 KiB. */
  readonly maxBuffered?: number;
  /**
   * Handling of a client for which more waits: "disconnect" ends its connection, so that it comes back and asks for what it
   * has missed; "drop" drops the oldest of its messages. Default "disconnect".
   */
  readonly onSlow?: "disconnect" | "drop";
  /** Rooms that one WebSocket can be in. Default 100. */
  readonly maxJoined?: number;
  /** Clients that `members()` lists; it counts all. Default 1000. */
  readonly maxListed?: number;
  /** The store of messages and members. Default: the key-value store if one is enabled, else the memory of the server. */
  readonly store?: RoomStore;
}

export type RoomsSettings = Required<Omit<RoomsOptions, "store">> & Pick<RoomsOptions, "store">;

const checks: Checks<RoomsOptions> = {
  history: is.integer(0, 10_000),
  historySecs: is.number(0.001, 31_536_000),
  maxRooms: is.integer(1),
  maxMessageSize: is.integer(1, 16 * 1024 * 1024),
  maxBuffered: is.integer(1),
  onSlow: is.oneOf("disconnect", "drop"),
  maxJoined: is.integer(1),
  maxListed: is.integer(0),
  store: is.object,
};

const defaults: RoomsSettings = {
  history: 100,
  historySecs: 3600,
  maxRooms: 10_000,
  maxMessageSize: 65_536,
  maxBuffered: 262_144,
  onSlow: "disconnect",
  maxJoined: 100,
  maxListed: 1000,
};

export function roomsSettings(given?: EitherSpelling<RoomsOptions>): RoomsSettings {
  return { ...defaults, ...readOptions<RoomsOptions>("enableRooms()", given, checks) };
}

const maxName = 200;

/** Names often come from clients, and become keys of stores. */
export function checkedName(name: unknown): string {
  if (typeof name === "string" && name !== "" && name.length <= maxName) return name;
  throw new ValueError(`the name of a room is a string of 1 to ${maxName} characters`);
}
