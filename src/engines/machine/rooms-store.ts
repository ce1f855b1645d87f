import type {
  RoomLimits,
  RoomListener,
  RoomStore,
  StoredHistory,
  StoredMember,
  StoredMembers,
  StoredMessage,
} from "../../batteries/rooms/store.js";
import type { SupervisorLink } from "../../server/exchange/link.js";
import type { HistoryPage, RoomPush, RoomRequest } from "./rooms-service.js";

const service = "rooms";

/** Rooms in the supervisor. */
export class MachineRoomStore implements RoomStore {
  readonly #link: SupervisorLink;
  /** The rooms that this worker watches, with its clients in them. */
  readonly #watched = new Map<string, Map<string, StoredMember>>();

  /** One history at a time is read, page by page, however many clients come back at once. */
  #reading: Promise<void> = Promise.resolve();

  constructor(link: SupervisorLink) {
    this.#link = link;
  }

  open(limits: RoomLimits, listener: RoomListener): void {
    this.#link.serve(service, {
      hear: ([room, id, text]: RoomPush) => listener.message(room, { id, text }),
      resync: () => {
        for (const [room, members] of this.#watched) {
          this.#tell(["watch", room]);
          for (const member of members.values()) this.#tell(["enter", room, member]);
          listener.gap(room);
        }
      },
    });
    this.#tell(["limits", limits]);
  }

  watch(room: string): void {
    this.#watched.set(room, new Map());
    this.#tell(["watch", room]);
  }

  unwatch(room: string): void {
    this.#watched.delete(room);
    this.#tell(["unwatch", room]);
  }

  async send(room: string, text: string): Promise<number> {
    return (await this.#ask(["send", room, text], room.length + text.length + 64)) as number;
  }

  async since(room: string, after: number): Promise<StoredHistory> {
    const before = this.#reading;
    let done = (): void => {};
    this.#reading = new Promise((resolve) => {
      done = resolve;
    });
    await before;
    try {
      return await this.#pages(room, after);
    } finally {
      done();
    }
  }

  async #pages(room: string, after: number): Promise<StoredHistory> {
    const messages: StoredMessage[] = [];
    let isIncomplete = false;
    for (let last = after; ; last = messages.at(-1)!.id) {
      const page = (await this.#ask(["since", room, last])) as HistoryPage;
      messages.push(...page.messages);
      isIncomplete ||= page.isIncomplete;
      if (!page.more) return { messages, isIncomplete };
    }
  }

  enter(room: string, member: StoredMember): void {
    this.#watched.get(room)?.set(member.id, member);
    this.#tell(["enter", room, member]);
  }

  exit(room: string, id: string): void {
    this.#watched.get(room)?.delete(id);
    this.#tell(["exit", room, id]);
  }

  async members(room: string, max: number): Promise<StoredMembers> {
    return (await this.#ask(["members", room, max])) as StoredMembers;
  }

  close(): void {}

  #tell(message: RoomRequest): void {
    this.#link.tell(service, message);
  }

  #ask(message: RoomRequest, weight?: number): Promise<unknown> {
    return this.#link.ask(service, message, weight);
  }
}
