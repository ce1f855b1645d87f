import { perProcess } from "../../pipeline/shared-stores.js";
import { Attendance } from "./attendance.js";
import { RoomLog } from "./room-log.js";
import type { RoomLimits, RoomListener, RoomStore, StoredHistory, StoredMember, StoredMembers } from "./store.js";

/** Rooms of this process alone. */
export class MemoryRoomStore implements RoomStore {
  readonly [perProcess] = true;
  readonly #here = new Attendance<null>((...change) => this.#listener?.changed(...change));
  #log: RoomLog | null = null;
  #listener: RoomListener | null = null;

  open(limits: RoomLimits, listener: RoomListener): void {
    this.#log = new RoomLog(limits);
    this.#listener = listener;
  }

  watch(): void {}

  watchMembers(): void {}

  unwatch(): void {}

  send(room: string, text: string): number {
    const message = this.#log!.add(room, text);
    this.#listener!.message(room, message);
    return message.id;
  }

  since(room: string, after: number): StoredHistory {
    return this.#log!.since(room, after);
  }

  enter(room: string, member: StoredMember): void {
    this.#here.enter(room, member, null);
  }

  exit(room: string, id: string): void {
    this.#here.exit(room, id);
  }

  members(room: string, max: number): StoredMembers {
    return this.#here.members(room, max);
  }

  close(): void {}
}
