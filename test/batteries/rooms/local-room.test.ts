import { describe, expect, it } from "vitest";
import type { Delivery, RoomClient } from "../../../src/batteries/rooms/client.js";
import { LocalRoom } from "../../../src/batteries/rooms/local-room.js";
import type { RoomStore, StoredHistory, StoredMessage } from "../../../src/batteries/rooms/store.js";

/** A client that notes the ids of its messages, and "gap" for those that were lost. */
class Notes implements RoomClient {
  readonly seen: (number | "gap")[] = [];

  deliver(delivery: Delivery): void {
    this.seen.push(delivery.id);
  }

  missed(): void {
    this.seen.push("gap");
  }

  tell(): void {}

  drained(): null {
    return null;
  }
}

/** A room whose store has a log, and passes messages on only if the test does. */
function roomOf(since: (after: number) => StoredHistory | Promise<StoredHistory>): LocalRoom {
  const store: Partial<RoomStore> = { watch: () => undefined, since: (_room, after) => since(after) };
  return new LocalRoom("lobby", store as RoomStore);
}

function messages(...ids: number[]): StoredMessage[] {
  return ids.map((id) => ({ id, text: '"text"' }));
}

describe("the clients of one process in a room", () => {
  it("A client gets a message once if the store passes it on after it was part of the history", async () => {
    const room = roomOf(() => ({ messages: messages(2, 3), isIncomplete: false }));
    const [fresh, back] = [new Notes(), new Notes()];
    await room.join("fresh", fresh, null);
    await room.join("back", back, 1);
    for (const message of messages(2, 3, 4)) room.hear(message);
    expect(back.seen).toEqual([2, 3, 4]);
    expect(fresh.seen).toEqual([2, 3, 4]);
  });

  it("A client that comes back does not get a message that is not for it from the history either", async () => {
    const hidden = { id: 3, text: '@back "text"' };
    const room = roomOf(() => ({ messages: [...messages(2), hidden], isIncomplete: false }));
    const [back, other] = [new Notes(), new Notes()];
    await room.join("back", back, 1);
    await room.join("other", other, 1);
    expect([back.seen, other.seen]).toEqual([[2], [2, 3]]);
  });

  it("Clients get the messages that were lost on the way to their process, before those that come meanwhile", async () => {
    let resolve = (_history: StoredHistory): void => {};
    const lost = new Promise<StoredHistory>((resolved) => {
      resolve = resolved;
    });
    const asked: number[] = [];
    const room = roomOf((after) => {
      asked.push(after);
      return lost;
    });
    const client = new Notes();
    await room.join("a", client, null);
    for (const message of messages(1)) room.hear(message);
    const caughtUp = room.catchUp();
    for (const message of messages(3, 4)) room.hear(message);
    expect(client.seen).toEqual([1]);
    resolve({ messages: messages(2, 3), isIncomplete: false });
    await caughtUp;
    expect(asked).toEqual([1]);
    expect(client.seen).toEqual([1, 2, 3, 4]);
  });

  it("Messages that are too many to be held back while others are fetched are fetched too", async () => {
    const asked: number[] = [];
    const replies: ((history: StoredHistory) => void)[] = [];
    const room = roomOf((after) => {
      asked.push(after);
      return new Promise<StoredHistory>((resolve) => void replies.push(resolve));
    });
    const client = new Notes();
    await room.join("a", client, null);
    room.hear(messages(1)[0]!);
    const caughtUp = room.catchUp();
    const many = Array.from({ length: 10_002 }, (_, i) => i + 2);
    for (const message of messages(...many)) room.hear(message);
    replies[0]!({ messages: [], isIncomplete: false });
    await expect.poll(() => replies.length).toBe(2);
    replies[1]!({ messages: messages(...many), isIncomplete: false });
    await caughtUp;
    expect(asked).toEqual([1, 1]);
    expect(client.seen).toEqual([1, ...many]);
  });

  it("Messages that are lost while others are fetched are fetched too", async () => {
    const replies: ((history: StoredHistory) => void)[] = [];
    const room = roomOf(() => new Promise<StoredHistory>((resolve) => void replies.push(resolve)));
    const client = new Notes();
    await room.join("a", client, null);
    room.hear(messages(1)[0]!);
    const caughtUp = room.catchUp();
    await room.catchUp();
    replies[0]!({ messages: messages(2), isIncomplete: false });
    await expect.poll(() => replies.length).toBe(2);
    room.hear(messages(4)[0]!);
    replies[1]!({ messages: messages(2, 3), isIncomplete: false });
    await caughtUp;
    expect(client.seen).toEqual([1, 2, 3, 4]);
  });

  it("Clients are told of lost messages that are no longer kept, and of those that cannot be fetched", async () => {
    let answer = (): StoredHistory => ({ messages: messages(9), isIncomplete: true });
    const room = roomOf(() => answer());
    const client = new Notes();
    await room.join("a", client, null);
    room.hear(messages(1)[0]!);
    await room.catchUp();
    expect(client.seen).toEqual([1, "gap", 9]);
    answer = () => {
      throw new Error("the store is away");
    };
    await room.catchUp();
    expect(client.seen).toEqual([1, "gap", 9, "gap"]);
  });

  it("Clients of a room that was silent until messages may have been lost are told so", async () => {
    const room = roomOf(() => ({ messages: [], isIncomplete: false }));
    const client = new Notes();
    await room.join("a", client, null);
    await room.catchUp();
    expect(client.seen).toEqual(["gap"]);
  });
});
