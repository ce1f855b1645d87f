import { Attendance } from "../../batteries/rooms/attendance.js";
import { RoomLog } from "../../batteries/rooms/room-log.js";
import type { RoomLimits, StoredHistory, StoredMember } from "../../batteries/rooms/store.js";
import type { HubWorker } from "../../server/worker-messages/service.js";
import { callService } from "./calls.js";

/** The reply to `since`. */
interface HistoryPage extends StoredHistory {
  /** There are further messages after the last of these. */
  readonly more: boolean;
}

/** Characters of the messages in one page, beyond the first message. */
const pageSize = 128 * 1024;

/** To a worker that watches the room. */
export type RoomPush = readonly [room: string, id: number, text: string];

/** The rooms of all workers: gives messages their order, keeps the last ones, knows who is there. */
export function roomService() {
  let log: RoomLog | null = null;
  const here = new Attendance<HubWorker>();
  const watchers = new Map<string, Set<HubWorker>>();
  const unwatch = (worker: HubWorker, room: string): void => {
    const all = watchers.get(room);
    if (all?.delete(worker) && all.size === 0) watchers.delete(room);
  };
  return callService(
    {
      limits(_, limits: RoomLimits) {
        log ??= new RoomLog(limits);
      },
      watch(worker, room: string) {
        const all = watchers.get(room);
        if (all === undefined) watchers.set(room, new Set([worker]));
        else all.add(worker);
      },
      unwatch,
      send(_, room: string, text: string) {
        const { id } = log!.add(room, text);
        const push: RoomPush = [room, id, text];
        for (const worker of watchers.get(room) ?? []) worker.tell(push, room.length + text.length + 64);
        return id;
      },
      since: (_, room: string, after: number) => pageOf(log!.since(room, after)),
      enter: (worker, room: string, member: StoredMember) => here.enter(room, member, worker),
      exit: (_, room: string, id: string) => here.exit(room, id),
      members: (_, room: string, max: number) => here.members(room, max),
    },
    (worker) => {
      here.leave(worker);
      for (const room of watchers.keys()) unwatch(worker, room);
    },
  );
}

/** The first of the messages after an id: a client that comes back must not cost the supervisor megabytes at once. */
function pageOf({ messages, isIncomplete }: StoredHistory): HistoryPage {
  let size = 0;
  const end = messages.findIndex(({ text }, i) => (size += text.length) > pageSize && i > 0);
  return end === -1
    ? { messages, isIncomplete, more: false }
    : { messages: messages.slice(0, end), isIncomplete, more: true };
}
