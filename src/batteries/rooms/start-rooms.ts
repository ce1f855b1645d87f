import type { Host } from "../../feature/host.js";
import { MemoryRoomStore } from "./memory-store.js";
import type { RoomsSettings } from "./options.js";
import { Rooms } from "./rooms.js";

/** The rooms of an application that starts. */
export function startRooms(host: Host, settings: RoomsSettings): Rooms {
  const store = host.store("rooms", {
    holds: "rooms",
    given: settings.store,
    local: () => new MemoryRoomStore(),
  });
  return new Rooms(settings, store, host.logger);
}
