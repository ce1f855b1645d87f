import type {
  RoomLimits,
  RoomListener,
  RoomStore,
  StoredHistory,
  StoredMember,
  StoredMembers,
  StoredMessage,
} from "../../batteries/rooms/store.js";
import type { SupervisorLink } from "../../server/worker-messages/link.js";
import { Caller } from "./calls.js";
import type { RoomPush, roomService } from "./rooms-service.js";

/** Rooms in the supervisor. */
export class SupervisedRoomStore implements RoomStore {
  readonly #link: SupervisorLink;
  readonly #rooms: Caller<ReturnType<typeof roomService>>;
  /** The rooms that this worker watches, with its clients in them. */
  readonly #watched = new Map<string, Map<string, StoredMember>>();
  readonly #membersWatched = new Set<string>();

  /** One history at a time is read, page by page, however many clients come back at once. */
  #reading: Promise<unknown> = Promise.resolve();

  constructor(link: SupervisorLink) {
    this.#link = link;
    this.#rooms = new Caller(link, "rooms");
  }

  open(limits: RoomLimits, listener: RoomListener): void {
    this.#link.serve("rooms", {
      hear: ([room, what, value]: RoomPush) => {
        if (typeof what === "number") listener.message(room, { id: what, text: value as string });
        else listener.changed(room, what, value as StoredMember);
      },
      resync: () => {
        for (const [room, members] of this.#watched) {
          this.#rooms.tell("watch", room);
          if (this.#membersWatched.has(room)) this.#rooms.tell("watchMembers", room);
          for (const member of members.values()) this.#rooms.tell("enter", room, member);
          listener.gap(room);
        }
      },
    });
    this.#rooms.tell("limits", limits);
  }

  watch(room: string): void {
    this.#watched.set(room, new Map());
    this.#rooms.tell("watch", room);
  }

  watchMembers(room: string): void {
    this.#membersWatched.add(room);
    this.#rooms.tell("watchMembers", room);
  }

  unwatch(room: string): void {
    this.#watched.delete(room);
    this.#membersWatched.delete(room);
    this.#rooms.tell("unwatch", room);
  }

  send(room: string, text: string): Promise<number> {
    return this.#rooms.ask("send", [room, text], room.length + text.length + 64);
  }

  since(room: string, after: number): Promise<StoredHistory> {
    const turn = this.#reading.then(() => this.#pages(room, after));
    this.#reading = turn.catch(() => undefined);
    return turn;
  }

  async #pages(room: string, after: number): Promise<StoredHistory> {
    const messages: StoredMessage[] = [];
    let isIncomplete = false;
    for (let last = after; ; last = messages.at(-1)!.id) {
      const page = await this.#rooms.ask("since", [room, last]);
      messages.push(...page.messages);
      isIncomplete ||= page.isIncomplete;
      if (!page.more) return { messages, isIncomplete };
    }
  }

  enter(room: string, member: StoredMember): void {
    this.#watched.get(room)?.set(member.id, member);
    this.#rooms.tell("enter", room, member);
  }

  exit(room: string, id: string): void {
    this.#watched.get(room)?.delete(id);
    this.#rooms.tell("exit", room, id);
  }

  members(room: string, max: number): Promise<StoredMembers> {
    return this.#rooms.ask("members", [room, max]);
  }

  close(): void {}
}
