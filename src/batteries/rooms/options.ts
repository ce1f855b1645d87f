import { httpError } from "../../errors/http-error.js";
import { type OptionsOf, option, options, type SettingsOf } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import type { RoomStore } from "./store.js";

const noHistory = "history is 0, so no messages are kept";

export const roomsOptions = options(
  "enableRooms()",
  {
    /** Messages of each room that are kept for clients that come back; 0 for none. Default 100. */
    history: option(is.integer(0, 10_000), 100),
    /** Time after its last message for which the messages of a room are kept. Default 1 hour. */
    historySecs: option.duration("1h", "1ms", "365d"),
    /** Rooms whose messages are kept; beyond it the least recent go. A key-value store keeps all. Default 10000. */
    maxRooms: option(is.integer(1), 10000),
    /** Bytes of one message as JSON. Default 64 KiB. */
    maxMessageSize: option(is.integer(1, 16 * 1024 * 1024), 65_536, "64 KiB"),
    /** Bytes that may wait for one client to take them. Default 256 KiB. */
    maxBuffered: option(is.integer(1), 262_144, "256 KiB"),
    /**
     * Handling of a client for which more waits: "disconnect" ends its connection, so that it comes back and asks for what it
     * has missed; "drop" drops the oldest of its messages. Default "disconnect".
     */
    onSlow: option(is.oneOf("disconnect", "drop"), "disconnect"),
    /** Rooms that one WebSocket can be in. Default 100. */
    maxJoined: option(is.integer(1), 100),
    /** Clients that `members()` lists; it counts all. Default 1000. */
    maxListed: option(is.integer(0), 1000),
    /** The store of messages and members. Default: the key-value store if one is enabled, else the memory of the server. */
    store: option<RoomStore>(is.object),
  },
  {
    idle: ({ history }) => ({
      historySecs: history === 0 && noHistory,
      maxRooms: history === 0 && noHistory,
    }),
  },
);

export interface RoomsOptions extends OptionsOf<typeof roomsOptions.fields> {}
export type RoomsSettings = SettingsOf<typeof roomsOptions.fields>;

const maxName = 200;

/** Names often come from clients, and become keys of stores. */
/** Clients often choose the name: a wrong one is their mistake. */
export function checkedName(name: unknown): string {
  if (typeof name !== "string" || name === "" || name.length > maxName) {
    throw httpError("BAD_REQUEST", `the name of a room is a string of 1 to ${maxName} characters`);
  }
  // Clients often choose the name.
  if (name.startsWith("stoa:")) throw httpError("BAD_REQUEST", "rooms whose names begin with stoa: are internal");
  return name;
}
