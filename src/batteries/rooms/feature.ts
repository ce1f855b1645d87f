import { feature } from "../../feature/feature.js";
import { type Host, perHost } from "../../feature/host.js";
import type { Response } from "../../http/response.js";
import { notStarted } from "../../kit/before-start.js";
import type { EitherSpelling } from "../../kit/names.js";
import type { WebSocket } from "../../websocket/socket.js";
import type { JoinOptions, StreamOptions } from "./join-options.js";
import { type RoomsOptions, type RoomsSettings, roomsOptions } from "./options.js";
import type { Room } from "./room.js";
import type { Rooms } from "./rooms.js";
import type { RoomStore } from "./store.js";

export interface RoomsFeature {
  /** Broadcasts to WebSockets and event streams by the name of a room, over all workers and machines. */
  enableRooms(options?: EitherSpelling<RoomsOptions>): this;
  /** A room: `app.rooms("lobby").send({ text: "hello" })`; needs `enableRooms()`. */
  rooms<Data = unknown>(name: string): Room<Data>;
}

/** Rooms, in a handler. */
export interface RequestRooms {
  /** A room: `request.rooms("lobby").send({ text: "hello" })`. */
  <Data = unknown>(name: string): Room<Data>;
  /** Responds with the messages of a room as server-sent events. A client that reconnects gets those it has missed. */
  stream(name: string, options?: StreamOptions): Response;
}

declare module "../../http/request.js" {
  interface RequestMembers {
    /** Rooms; needs `app.enableRooms()`. */
    readonly rooms: RequestRooms;
  }
}

declare module "../../websocket/socket.js" {
  interface WebSocket<Params extends object = Record<string, string>> {
    /**
     * Sends all messages of a room to this WebSocket, until it is closed or leaves the room. Resolves when it is in the room.
     * Needs `app.enableRooms()`.
     */
    join(room: string, options?: JoinOptions): Promise<void>;
    /** Leaves a room. */
    leave(room: string): void;
  }
}

declare module "../../pipeline/shared-stores.js" {
  interface SharedStores {
    rooms: RoomStore;
  }
}

interface State {
  settings: RoomsSettings | null;
  /** Null before the start. */
  rooms: Rooms | null;
}

const stateOf = perHost((): State => ({ settings: null, rooms: null }));

export const roomsFeature = feature<RoomsFeature>({
  name: "rooms",
  setup: {
    enableRooms(host, options) {
      stateOf(host).settings = roomsOptions.read([options]);
    },
  },
  methods: { rooms: (host, name) => roomsOf(host, "app.rooms()").room(name) },
  requestMembers: {
    rooms(host, request): RequestRooms {
      const rooms = roomsOf(host, "request.rooms");
      return Object.assign(<Data>(name: string) => rooms.room<Data>(name), {
        stream: (name: string, options?: StreamOptions) => rooms.stream(request, name, options),
        // For the WebSocket that the request has become; see websocket/socket.ts.
        join: (socket: WebSocket<object>, name: string, options?: JoinOptions) => rooms.join(socket, name, options),
        leave: (socket: WebSocket<object>, name: string) => rooms.leave(socket, name),
      });
    },
  },
  async prepare(host) {
    if (stateOf(host).settings !== null) await startedRooms(host);
  },
  review(host) {
    const { settings } = stateOf(host);
    const { maxRooms, history, store } = settings ?? roomsOptions.read([]);
    return [
      ...roomsOptions.idle(settings),
      maxRooms !== roomsOptions.fields.maxRooms.fallback &&
        history > 0 &&
        store === undefined &&
        host.shares("rooms") &&
        "option 'maxRooms' in enableRooms() has no effect: a key-value store keeps the messages of all rooms",
    ];
  },
  drain: (host) => stateOf(host).rooms?.drain(),
  close: (host) => stateOf(host).rooms?.close(),
});

/** The rooms of an application that starts, for features that use them: also where the application has not enabled them. */
export async function startedRooms(host: Host): Promise<Rooms> {
  const state = stateOf(host);
  const { startRooms } = await import("./start-rooms.js");
  return (state.rooms ??= startRooms(host, state.settings ?? roomsOptions.read([])));
}

function roomsOf(host: Host, needs: string): Rooms {
  const { rooms, settings } = stateOf(host);
  if (rooms !== null && settings !== null) return rooms;
  throw new Error(settings === null ? `${needs} needs app.enableRooms()` : notStarted(needs));
}
