import type {
  RoomLimits,
  RoomListener,
  RoomStore,
  StoredHistory,
  StoredMember,
  StoredMembers,
  StoredMessage,
} from "../../../batteries/rooms/store.js";
import type { KvStore } from "../kvstore.js";
import type { KvScript } from "../script.js";
import type { KvSubscription } from "../subscriptions.js";
import { enterLua, exitLua, membersLua, sendLua, sinceLua } from "./rooms-lua.js";

/** Milliseconds after which the clients of a process that has died are given up, and between two signs of life. */
const hereMs = 60_000;
const renewEvery = 20_000;
/** Clients that are renewed by one call. */
const batch = 500;

interface Watched {
  readonly members: Map<string, StoredMember>;
  /** To its messages, and to its members if they are watched. */
  readonly subscriptions: Promise<KvSubscription>[];
}

/** Rooms in the key-value store: those of all machines. */
export class KvRoomStore implements RoomStore {
  readonly #kv: KvStore;
  readonly #send: KvScript<string>;
  readonly #since: KvScript<[isIncomplete: 0 | 1, ...messages: string[]]>;
  readonly #enter: KvScript<number>;
  readonly #exit: KvScript<number>;
  readonly #members: KvScript<[count: number, ...members: string[]]>;
  readonly #watched = new Map<string, Watched>();
  #limits: RoomLimits = { history: 0, keepMs: 1, maxRooms: 0 };
  #listener: RoomListener | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(kv: KvStore) {
    this.#kv = kv;
    this.#send = kv.script(sendLua);
    this.#since = kv.script(sinceLua);
    this.#enter = kv.script(enterLua);
    this.#exit = kv.script(exitLua);
    this.#members = kv.script(membersLua);
  }

  open(limits: RoomLimits, listener: RoomListener): void {
    this.#limits = { ...limits, keepMs: Math.ceil(limits.keepMs) };
    this.#listener = listener;
  }

  async watch(room: string): Promise<void> {
    const subscription = this.#subscribe(room, channelOf(room), (message) => {
      const stored = readMessage(message);
      if (stored !== null) this.#listener?.message(room, stored);
    });
    this.#watched.set(room, { members: new Map(), subscriptions: [subscription] });
    await subscription;
  }

  async watchMembers(room: string): Promise<void> {
    const subscription = this.#subscribe(room, membersChannelOf(room), (message) => {
      const [change, id, ...info] = message.split(" ");
      if (change !== "joined" && change !== "left") return;
      this.#listener?.changed(room, change, { id: id!, info: info.join(" ") });
    });
    this.#watched.get(room)?.subscriptions.push(subscription);
    await subscription;
  }

  #subscribe(room: string, channel: string, hear: (message: string) => void): Promise<KvSubscription> {
    return this.#kv.subscribe(channel, hear, { onGap: () => this.#listener?.gap(room) });
  }

  unwatch(room: string): void {
    const watched = this.#watched.get(room);
    this.#watched.delete(room);
    for (const subscription of watched?.subscriptions ?? []) {
      subscription.then((open) => open.close()).catch(() => undefined);
    }
  }

  async send(room: string, text: string): Promise<number> {
    const { history, keepMs } = this.#limits;
    // The channel is an argument of the script, which the store does not prefix.
    const channel = this.#kv.prefixed(channelOf(room));
    return Number(await this.#send.run(logKeys(room), [text, history, keepMs, channel]));
  }

  async since(room: string, after: number): Promise<StoredHistory> {
    const [isIncomplete, ...messages] = await this.#since.run(logKeys(room), [after]);
    return { messages: messages.flatMap((message) => readMessage(message) ?? []), isIncomplete: isIncomplete === 1 };
  }

  async enter(room: string, member: StoredMember): Promise<void> {
    this.#watched.get(room)?.members.set(member.id, member);
    this.#timer ??= setInterval(() => this.#renew(), renewEvery).unref();
    await this.#enter.run(hereKeys(room), [this.#membersChannel(room), hereMs, member.id, member.info]);
  }

  exit(room: string, id: string): void {
    this.#watched.get(room)?.members.delete(id);
    // If that fails, the client is given up when its time is over.
    void this.#leave(room, id);
  }

  async #leave(room: string, id: string): Promise<void> {
    await this.#exit.run(hereKeys(room), [this.#membersChannel(room), id]).catch(() => undefined);
  }

  #membersChannel(room: string): string {
    return this.#kv.prefixed(membersChannelOf(room));
  }

  async members(room: string, max: number): Promise<StoredMembers> {
    const [count, ...rest] = await this.#members.run(hereKeys(room), [this.#membersChannel(room), max]);
    const members: StoredMember[] = [];
    for (let i = 0; i < rest.length; i += 2) members.push({ id: rest[i]!, info: rest[i + 1]! });
    return { count, members };
  }

  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    const leaving = [...this.#watched].flatMap(([room, { members }]) =>
      [...members.keys()].map((id) => this.#leave(room, id)),
    );
    await Promise.all(leaving);
  }

  #renew(): void {
    for (const [room, { members }] of this.#watched) {
      const all = [...members.values()];
      for (let i = 0; i < all.length; i += batch) {
        const args = all.slice(i, i + batch).flatMap(({ id, info }) => [id, info]);
        this.#enter.run(hereKeys(room), [this.#membersChannel(room), hereMs, ...args]).catch(() => undefined);
      }
    }
  }
}

/** Braces keep the keys of a room on one server of a cluster. A brace of the name itself would end them. */
function rootOf(room: string): string {
  return `room:{${encodeURIComponent(room.toWellFormed())}}`;
}

function logKeys(room: string): string[] {
  return [rootOf(room), `${rootOf(room)}:log`];
}

function hereKeys(room: string): string[] {
  return [`${rootOf(room)}:here`, `${rootOf(room)}:info`];
}

function channelOf(room: string): string {
  return rootOf(room);
}

function membersChannelOf(room: string): string {
  return `${rootOf(room)}:here`;
}

function readMessage(message: string): StoredMessage | null {
  const space = message.indexOf(" ");
  const id = Number(message.slice(0, space));
  return space > 0 && Number.isSafeInteger(id) ? { id, text: message.slice(space + 1) } : null;
}
