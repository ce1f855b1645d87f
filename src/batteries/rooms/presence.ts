import type { RoomClient } from "./client.js";
import type { StoredMember, StoredMembers } from "./store.js";

export type MemberChange = "joined" | "left";

interface Told {
  readonly client: RoomClient;
  /** False until it has got the list: changes before it are part of the list. */
  hasList: boolean;
}

/**
 * Tells clients of this process who is in a room: first all members, then each that joins or leaves. A change that arrives
 * while the list is fetched may be older or newer than the list; it is applied to it. That is right for both, as changes
 * arrive in their order.
 */
export class Presence {
  readonly #clients = new Map<string, Told>();
  /** Clients without a list. */
  #fresh = new Set<string>();
  /** Changes since the list is being fetched; null if none is. */
  #changes: [MemberChange, StoredMember][] | null = null;
  #listing: Promise<void> = Promise.resolve();

  constructor(private readonly fetch: () => StoredMembers | Promise<StoredMembers>) {}

  /** Resolves when the client has got the list. */
  add(id: string, client: RoomClient): Promise<void> {
    this.#clients.set(id, { client, hasList: false });
    this.#fresh.add(id);
    return this.#list();
  }

  remove(id: string): void {
    this.#clients.delete(id);
    this.#fresh.delete(id);
  }

  change(change: MemberChange, member: StoredMember): void {
    this.#changes?.push([change, member]);
    const text = memberText(member);
    for (const [id, { client, hasList }] of this.#clients) if (hasList && id !== member.id) client.tell(change, text);
  }

  /** Changes may have been lost: all clients get the list again. */
  async refresh(): Promise<void> {
    for (const [id, told] of this.#clients) {
      told.hasList = false;
      this.#fresh.add(id);
    }
    try {
      await this.#list();
    } catch {
      // Later changes are told, but the client does not know everything.
      for (const id of this.#fresh) this.#clients.get(id)!.hasList = true;
      this.#fresh.clear();
      for (const { client } of this.#clients.values()) client.missed();
    }
  }

  /** A list that is being fetched may be too old for a client that has come since: it gets the next one. */
  #list(): Promise<void> {
    const next = () => this.#listNow();
    return (this.#listing = this.#listing.then(next, next));
  }

  async #listNow(): Promise<void> {
    if (this.#fresh.size === 0) return;
    const served = this.#fresh;
    this.#fresh = new Set();
    const changes: [MemberChange, StoredMember][] = (this.#changes = []);
    let list: StoredMembers;
    try {
      list = await this.fetch();
    } catch (error) {
      for (const id of served) if (this.#clients.has(id)) this.#fresh.add(id);
      throw error;
    } finally {
      this.#changes = null;
    }
    const text = listText(list, changes);
    for (const id of served) {
      const told = this.#clients.get(id);
      if (told === undefined) continue;
      told.hasList = true;
      told.client.tell("present", `{"you":"${id}",${text}`);
    }
  }
}

/** The list without its first character and the id of the client that gets it. */
function listText({ count, members }: StoredMembers, changes: readonly [MemberChange, StoredMember][]): string {
  const all = new Map(members.map((member) => [member.id, member]));
  const isComplete = members.length === count;
  for (const [change, member] of changes) {
    if (change === "left") all.delete(member.id);
    else if (isComplete) all.set(member.id, member);
  }
  const texts = [...all.values()].map(memberText);
  return `"count":${isComplete ? all.size : count},"members":[${texts.join(",")}]}`;
}

function memberText({ id, info }: StoredMember): string {
  return `{"id":${JSON.stringify(id)},"info":${info}}`;
}
