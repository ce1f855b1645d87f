import { Delivery, type RoomClient } from "./client.js";
import type { RoomStore, StoredMessage } from "./store.js";

interface Member {
  readonly client: RoomClient;
  /** Messages that came while the history was read; null when it was. */
  backlog: Delivery[] | null;
}

/** Messages that are held back while others are fetched. A store that is so slow loses the oldest. */
const maxHeld = 10_000;

/** The clients of this process in one room. */
export class LocalRoom {
  readonly name: string;
  readonly #store: RoomStore;
  readonly #members = new Map<string, Member>();
  /** Set before the first member: the store passes the messages on. */
  readonly watching: void | Promise<void>;
  #lastId = 0;
  /** Messages that came while lost ones were fetched. */
  #held: StoredMessage[] | null = null;

  constructor(name: string, store: RoomStore) {
    this.name = name;
    this.#store = store;
    this.watching = store.watch(name);
  }

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  /** Adds a client, which first gets the messages after an id. Null for none of them. */
  async join(id: string, client: RoomClient, after: number | null): Promise<void> {
    const member: Member = { client, backlog: after === null ? null : [] };
    this.#members.set(id, member);
    if (this.watching !== undefined) await this.watching;
    if (after === null) return;
    const { messages, isIncomplete } = await this.#store.since(this.name, after);
    if (isIncomplete) client.missed();
    for (const message of messages) client.deliver(new Delivery(this.name, message));
    const last = messages.at(-1)?.id ?? 0;
    for (const delivery of member.backlog ?? []) if (delivery.id > last) client.deliver(delivery);
    member.backlog = null;
  }

  leave(id: string): void {
    this.#members.delete(id);
  }

  hear(message: StoredMessage): void {
    if (this.#held !== null) {
      if (this.#held.push(message) > maxHeld) this.#held.shift();
      return;
    }
    // Twice: once fetched, and once passed on.
    if (message.id <= this.#lastId) return;
    this.#lastId = message.id;
    const delivery = new Delivery(this.name, message);
    for (const { client, backlog } of this.#members.values()) {
      if (backlog === null) client.deliver(delivery);
      else if (backlog.push(delivery) > maxHeld) backlog.shift();
    }
  }

  /** Fetches messages that may have been lost. */
  async catchUp(): Promise<void> {
    if (this.#held !== null || this.#lastId === 0) return;
    this.#held = [];
    let isIncomplete = true;
    let missed: readonly StoredMessage[] = [];
    try {
      ({ messages: missed, isIncomplete } = await this.#store.since(this.name, this.#lastId));
    } catch {
      // Nobody knows what was lost.
    }
    const held: StoredMessage[] = this.#held;
    this.#held = null;
    if (isIncomplete) for (const { client } of this.#members.values()) client.missed();
    for (const message of [...missed, ...held]) this.hear(message);
  }
}
