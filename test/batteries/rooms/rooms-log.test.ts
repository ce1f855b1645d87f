import type { Logger } from "stoa";
import { describe, expect, it } from "vitest";
import { MemoryRoomStore } from "../../../src/batteries/rooms/memory-store.js";
import { roomsOptions } from "../../../src/batteries/rooms/options.js";
import { Rooms } from "../../../src/batteries/rooms/rooms.js";

class AbsentStore extends MemoryRoomStore {
  override send(): never {
    throw new Error("the store is away");
  }
}

describe("the log of rooms", () => {
  it("Messages that cannot be sent because the store is away get one log line in ten seconds", async () => {
    const lines: string[] = [];
    const write = (text: string): void => void lines.push(text);
    const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
    const rooms = new Rooms(roomsOptions.read([]), new AbsentStore(), logger);
    for (let i = 0; i < 20; i++)
      await expect(rooms.room("lobby").send(i)).rejects.toMatchObject({ cause: { message: "the store is away" } });
    expect(lines).toEqual(["a message to a room was not sent"]);
  });
});
