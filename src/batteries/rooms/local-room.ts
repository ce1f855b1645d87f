import { Delivery, type RoomClient } from "./client.js";
import { type MemberChange, Presence } from "./presence.js";
import type { RoomStore, StoredMember, StoredMessage } from "./store.js";

interface Member {
  readonly client: RoomClient;
  /** Messages that came while the client took the history; null when it has all of it. */
  backlog: Delivery[] | null;
  /** True if there were too many of them. They are fetched from the store. */
  isBehind: boolean;
  /** The id of the last message that it got from the history, or 0. */
  lastId: number;
}

/** Messages that are held back while others are fetched. If there are more, all of them are fetched. */
const maxHeld = 10_000;
/** Messages that are held back for one client. */
const maxBacklog = 100;

/** The clients of this process in one room. */
export class LocalRoom {
  readonly name: string;
  readonly #store: RoomStore;
  readonly #members = new Map<string, Member>();
  /** Set before the first member: the store passes the messages on. */
  readonly watching: void | Promise<void>;
  #presence: { readonly told: Presence; readonly watching: void | Promise<void> } | null = null;
  #lastId = 0;
  /** Messages that came while lost ones were fetched. */
  #held: StoredMessage[] | null = null;
  #hasLost = false;

  constructor(name: string, store: RoomStore) {
    this.name = name;
    this.#store = store;
    this.watching = store.watch(name);
  }

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  /**
   * Adds a client, which first gets the messages after an id, as fast as it takes them. Null for none of them. Resolves when
   * it has them or has left.
   */
  async join(id: string, client: RoomClient, after: number | null): Promise<void> {
    const member: Member = { client, backlog: after === null ? null : [], isBehind: false, lastId: 0 };
    this.#members.set(id, member);
    if (this.watching !== undefined) await this.watching;
    const deliver = async (delivery: Delivery): Promise<void> => {
      const draining = client.drained();
      if (draining !== null) await draining;
      // A client that has already left drops it.
      if (delivery.except !== id) client.deliver(delivery);
      member.lastId = delivery.id;
    };
    while (member.backlog !== null && this.#members.get(id) === member) {
      member.backlog = [];
      member.isBehind = false;
      const { messages, isIncomplete } = await this.#store.since(
        this.name,
        member.lastId === 0 ? after! : member.lastId,
      );
      if (isIncomplete) client.missed();
      for (const message of messages) {
        if (this.#members.get(id) !== member) return;
        await deliver(new Delivery(this.name, message));
      }
      // The list grows during the loop.
      for (let i = 0; i < member.backlog.length; i++) {
        if (this.#members.get(id) !== member) return;
        if (member.backlog[i]!.id > member.lastId) await deliver(member.backlog[i]!);
      }
      // In the turn in which the list had no more: the next message is delivered by `hear`.
      if (!member.isBehind) member.backlog = null;
    }
  }

  /** Tells a client who is in the room, `max` of them at most, and then each client that joins or leaves. */
  async attend(id: string, max: number): Promise<void> {
    this.#presence ??= {
      told: new Presence(() => this.#store.members(this.name, max)),
      watching: this.#store.watchMembers(this.name),
    };
    const { told, watching } = this.#presence;
    try {
      await watching;
    } catch (error) {
      this.#presence = null;
      throw error;
    }
    const member = this.#members.get(id);
    if (member !== undefined) await told.add(id, member.client);
  }

  changed(change: MemberChange, member: StoredMember): void {
    this.#presence?.told.change(change, member);
  }

  leave(id: string): void {
    this.#members.delete(id);
    this.#presence?.told.remove(id);
  }

  hear(message: StoredMessage): void {
    if (this.#held !== null) {
      if (this.#held.push(message) > maxHeld) {
        this.#held.length = 0;
        this.#hasLost = true;
      }
      return;
    }
    // Twice: once fetched, and once passed on.
    if (message.id <= this.#lastId) return;
    this.#lastId = message.id;
    const delivery = new Delivery(this.name, message);
    for (const [id, member] of this.#members) {
      if (id === delivery.except) continue;
      if (member.backlog === null) {
        // A store can pass a message on after it was fetched as part of the history.
        if (message.id > member.lastId) member.client.deliver(delivery);
      } else if (member.isBehind) continue;
      else if (member.backlog.push(delivery) > maxBacklog) {
        member.backlog.length = 0;
        member.isBehind = true;
      }
    }
  }

  /** Fetches what may have been lost. */
  async catchUp(): Promise<void> {
    void this.#presence?.told.refresh();
    this.#hasLost = true;
    if (this.#held !== null) return;
    if (this.#lastId === 0) {
      // Without a first message it is unknown where the missing ones begin.
      for (const { client } of this.#members.values()) client.missed();
      return;
    }
    this.#held = [];
    let isIncomplete = false;
    let missed: readonly StoredMessage[] = [];
    // What is lost while others are fetched may be too late for that reply.
    while (this.#hasLost) {
      this.#hasLost = false;
      try {
        ({ messages: missed, isIncomplete } = await this.#store.since(this.name, this.#lastId));
      } catch {
        // It is unknown what was lost.
        isIncomplete = true;
      }
    }
    const held: StoredMessage[] = this.#held;
    this.#held = null;
    if (isIncomplete) for (const { client } of this.#members.values()) client.missed();
    for (const message of [...missed, ...held]) this.hear(message);
  }
}
