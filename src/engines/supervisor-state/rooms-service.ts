import { Attendance } from "../../batteries/rooms/attendance.js";
import { RoomLog } from "../../batteries/rooms/room-log.js";
import type { RoomLimits, RoomListener, StoredHistory, StoredMember } from "../../batteries/rooms/store.js";
import { is } from "../../kit/options.js";
import type { HubWorker } from "../../server/worker-messages/service.js";
import { call, callService, objectWith } from "./calls.js";

/** The reply to `since`. */
interface HistoryPage extends StoredHistory {
  /** There are further messages after the last of these. */
  readonly more: boolean;
}

/** Characters of the messages in one page, beyond the first message. */
const pageSize = 128 * 1024;

/** To a worker that watches the room or its members. */
export type RoomPush =
  | readonly [room: string, id: number, text: string]
  | readonly [...change: Parameters<RoomListener["changed"]>];

const roomLimits = objectWith<RoomLimits>({ history: is.integer(0), keepMs: is.number(0), maxRooms: is.integer(1) });
const storedMember = objectWith<StoredMember>({ id: is.string, info: is.string });

/** The rooms of all workers: gives messages their order, keeps the last ones, knows the members. */
export function roomService() {
  let log: RoomLog | null = null;
  const watchers = new Watchers();
  const membersWatchers = new Watchers();
  const here = new Attendance<HubWorker>((...change) => {
    const [room, , { info }] = change;
    membersWatchers.tell(room, change, room.length + info.length + 64);
  });
  const unwatch = (worker: HubWorker, room: string): void => {
    watchers.remove(worker, room);
    membersWatchers.remove(worker, room);
  };
  return callService(
    {
      limits: call([roomLimits], (_, limits) => {
        log ??= new RoomLog(limits);
      }),
      watch: call([is.string], (worker, room) => watchers.add(worker, room)),
      watchMembers: call([is.string], (worker, room) => membersWatchers.add(worker, room)),
      unwatch: call([is.string], unwatch),
      send: call([is.string, is.string], (_, room, text) => {
        const { id } = log!.add(room, text);
        watchers.tell(room, [room, id, text], room.length + text.length + 64);
        return id;
      }),
      since: call([is.string, is.number()], (_, room, after) => pageOf(log!.since(room, after))),
      enter: call([is.string, storedMember], (worker, room, member) => here.enter(room, member, worker)),
      exit: call([is.string, is.string], (_, room, id) => here.exit(room, id)),
      members: call([is.string, is.number()], (_, room, max) => here.members(room, max)),
    },
    (worker) => {
      for (const room of watchers.rooms()) unwatch(worker, room);
      here.leave(worker);
    },
  );
}

/** The workers to which something about a room is told. */
class Watchers {
  readonly #workers = new Map<string, Set<HubWorker>>();

  add(worker: HubWorker, room: string): void {
    const all = this.#workers.get(room);
    if (all === undefined) this.#workers.set(room, new Set([worker]));
    else all.add(worker);
  }

  remove(worker: HubWorker, room: string): void {
    const all = this.#workers.get(room);
    if (all?.delete(worker) && all.size === 0) this.#workers.delete(room);
  }

  tell(room: string, push: RoomPush, weight: number): void {
    for (const worker of this.#workers.get(room) ?? []) worker.tell(push, weight);
  }

  rooms(): IterableIterator<string> {
    return this.#workers.keys();
  }
}

/** The first of the messages after an id: a client that comes back must not cost the supervisor megabytes at once. */
function pageOf({ messages, isIncomplete }: StoredHistory): HistoryPage {
  let size = 0;
  const end = messages.findIndex(({ text }, i) => (size += text.length) > pageSize && i > 0);
  return end === -1
    ? { messages, isIncomplete, more: false }
    : { messages: messages.slice(0, end), isIncomplete, more: true };
}
