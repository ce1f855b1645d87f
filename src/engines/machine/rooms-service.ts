import { Attendance } from "../../batteries/rooms/attendance.js";
import { RoomLog } from "../../batteries/rooms/room-log.js";
import type { RoomLimits, StoredHistory, StoredMember } from "../../batteries/rooms/store.js";
import type { HubService, HubWorker } from "../../server/exchange/service.js";

/** Messages of a worker. */
export type RoomRequest =
  | readonly ["limits", limits: RoomLimits]
  | readonly ["watch" | "unwatch", room: string]
  | readonly ["send", room: string, text: string]
  | readonly ["since", room: string, after: number]
  | readonly ["enter", room: string, member: StoredMember]
  | readonly ["exit", room: string, id: string]
  | readonly ["members", room: string, max: number];

/** The reply to `since`. */
export interface HistoryPage extends StoredHistory {
  /** There are further messages after the last of these. */
  readonly more: boolean;
}

/** Characters of the messages in one page, beyond the first message. */
const pageSize = 128 * 1024;

/** To a worker that watches the room. */
export type RoomPush = readonly [room: string, id: number, text: string];

/** The rooms of all workers: gives messages their order, keeps the last ones, knows who is there. */
export class RoomService implements HubService {
  #log: RoomLog | null = null;
  readonly #here = new Attendance<HubWorker>();
  readonly #watchers = new Map<string, Set<HubWorker>>();

  hear(worker: HubWorker, message: RoomRequest): unknown {
    switch (message[0]) {
      case "limits":
        this.#log ??= new RoomLog(message[1]);
        return undefined;
      case "watch":
        return this.#watch(worker, message[1]);
      case "unwatch":
        return this.#unwatch(worker, message[1]);
      case "send":
        return this.#send(message[1], message[2]);
      case "since":
        return this.#page(message[1], message[2]);
      case "enter":
        return this.#here.enter(message[1], message[2], worker);
      case "exit":
        return this.#here.exit(message[1], message[2]);
      case "members":
        return this.#here.members(message[1], message[2]);
    }
  }

  leave(worker: HubWorker): void {
    this.#here.leave(worker);
    for (const room of this.#watchers.keys()) this.#unwatch(worker, room);
  }

  lost(worker: HubWorker): void {
    this.leave(worker);
  }

  /** The first of the messages after an id: a client that comes back must not cost the supervisor megabytes at once. */
  #page(room: string, after: number): HistoryPage {
    const { messages, isIncomplete } = this.#log!.since(room, after);
    let size = 0;
    const end = messages.findIndex(({ text }, i) => (size += text.length) > pageSize && i > 0);
    return end === -1
      ? { messages, isIncomplete, more: false }
      : { messages: messages.slice(0, end), isIncomplete, more: true };
  }

  #send(room: string, text: string): number {
    const { id } = this.#log!.add(room, text);
    const push: RoomPush = [room, id, text];
    for (const worker of this.#watchers.get(room) ?? []) worker.tell(push, room.length + text.length + 64);
    return id;
  }

  #watch(worker: HubWorker, room: string): void {
    const watchers = this.#watchers.get(room);
    if (watchers === undefined) this.#watchers.set(room, new Set([worker]));
    else watchers.add(worker);
  }

  #unwatch(worker: HubWorker, room: string): void {
    const watchers = this.#watchers.get(room);
    if (watchers?.delete(worker) && watchers.size === 0) this.#watchers.delete(room);
  }
}
