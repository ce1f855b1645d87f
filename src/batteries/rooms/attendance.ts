import type { RoomListener, StoredMember, StoredMembers } from "./store.js";

/** The clients in each room, each brought by one owner: a worker, or this process. */
export class Attendance<Owner> {
  readonly #rooms = new Map<string, Map<string, { readonly owner: Owner; readonly info: string }>>();

  constructor(private readonly changed: RoomListener["changed"]) {}

  enter(room: string, member: StoredMember, owner: Owner): void {
    const { id, info } = member;
    const members = this.#rooms.get(room);
    const isNew = !members?.has(id);
    if (members === undefined) this.#rooms.set(room, new Map([[id, { owner, info }]]));
    else members.set(id, { owner, info });
    if (isNew) this.changed(room, "joined", member);
  }

  exit(room: string, id: string): void {
    const members = this.#rooms.get(room);
    const member = members?.get(id);
    if (members === undefined || member === undefined) return;
    members.delete(id);
    if (members.size === 0) this.#rooms.delete(room);
    this.changed(room, "left", { id, info: member.info });
  }

  /** Removes all members that an owner has brought. */
  leave(owner: Owner): void {
    for (const [room, members] of this.#rooms) {
      for (const [id, member] of members) if (member.owner === owner) this.exit(room, id);
    }
  }

  members(room: string, max: number): StoredMembers {
    const all = this.#rooms.get(room);
    if (all === undefined) return { count: 0, members: [] };
    const members: StoredMember[] = [];
    for (const [id, { info }] of all) {
      if (members.length >= max) break;
      members.push({ id, info });
    }
    return { count: all.size, members };
  }
}
