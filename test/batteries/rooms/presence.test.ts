import { describe, expect, it } from "vitest";
import type { RoomClient } from "../../../src/batteries/rooms/client.js";
import { Presence } from "../../../src/batteries/rooms/presence.js";
import type { StoredMembers } from "../../../src/batteries/rooms/store.js";
import { type Deferred, deferred } from "../../../src/kit/deferred.js";

/** A client that notes what it is told. */
class Notes implements RoomClient {
  readonly told: string[] = [];

  deliver(): void {}

  missed(): void {
    this.told.push("gap");
  }

  tell(event: string, data: string): void {
    const { id, members } = JSON.parse(data) as { id?: string; members?: { id: string }[] };
    this.told.push(`${event} ${id ?? members?.map((member) => member.id).join()}`);
  }

  drained(): null {
    return null;
  }
}

function member(id: string) {
  return { id, info: "null" };
}

/** Lists that a test gives when it likes, in the order in which they are fetched. */
function lists() {
  const asked: Deferred<StoredMembers>[] = [];
  const fetch = (): Promise<StoredMembers> => {
    asked.push(deferred());
    return asked.at(-1)!.promise;
  };
  const give = (...ids: string[]): void => {
    asked.at(-1)!.resolve({ count: ids.length, members: ids.map(member) });
  };
  return { asked, fetch, give };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("who is in a room", () => {
  it("A list of members has the changes that came while it was fetched, and each client gets one that is new enough", async () => {
    const { asked, fetch, give } = lists();
    const presence = new Presence(fetch);
    const [one, two] = [new Notes(), new Notes()];
    const first = presence.add("one", one);
    await turn();
    presence.change("left", member("a"));
    presence.change("joined", member("b"));
    const second = presence.add("two", two);
    give("one", "a");
    await first;
    presence.change("joined", member("two"));
    await turn();
    expect(asked).toHaveLength(2);
    give("one", "b", "two");
    await second;
    presence.change("left", member("b"));
    presence.change("joined", member("two"));
    expect(one.told).toEqual(["present one,b", "joined two", "left b", "joined two"]);
    expect(two.told).toEqual(["present one,b,two", "left b"]);
  });

  it("Clients get the list again when changes were lost, or learn that there is none, and then changes", async () => {
    const { asked, fetch, give } = lists();
    const presence = new Presence(fetch);
    const client = new Notes();
    const added = presence.add("one", client);
    await turn();
    give("one");
    await added;
    let refreshed = presence.refresh();
    presence.change("joined", member("a"));
    await turn();
    give("one", "a");
    await refreshed;
    refreshed = presence.refresh();
    await turn();
    asked.at(-1)!.reject(new Error("the store is away"));
    await refreshed;
    presence.change("left", member("a"));
    presence.remove("one");
    presence.change("joined", member("b"));
    expect(client.told).toEqual(["present one", "present one,a", "gap", "left a"]);
  });

  it("A client whose list cannot be fetched is refused", async () => {
    const presence = new Presence(() => Promise.reject(new Error("the store is away")));
    await expect(presence.add("one", new Notes())).rejects.toThrow("the store is away");
  });
});
