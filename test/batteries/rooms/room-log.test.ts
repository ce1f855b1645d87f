import { describe, expect, it } from "vitest";
import { RoomLog } from "../../../src/batteries/rooms/room-log.js";

const limits = { history: 3, keepMs: 60_000, maxRooms: 10 };

describe("the messages that are kept of rooms", () => {
  it("Messages of a room have ids that grow, also when many are sent in the same moment", () => {
    const log = new RoomLog(limits);
    const ids = Array.from({ length: 1000 }, () => log.add("a", "1").id);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    expect(ids[0]).toBeGreaterThan(1.7e15);
    expect(Number.isSafeInteger(ids.at(-1))).toBe(true);
  });

  it("The last messages of each room are kept, and a gap is reported", () => {
    const log = new RoomLog(limits);
    const [first, second] = ["1", "2", "3", "4"].map((text) => log.add("a", text).id);
    expect(log.since("a", 0)).toMatchObject({
      isIncomplete: false,
      messages: [{ text: "2" }, { text: "3" }, { text: "4" }],
    });
    expect(log.since("a", first!).isIncomplete).toBe(false);
    expect(log.since("a", first! - 1).isIncomplete).toBe(true);
    expect(log.since("a", second!).messages.map(({ text }) => text)).toEqual(["3", "4"]);
    expect(log.since("b", first!)).toEqual({ messages: [], isIncomplete: true });
  });

  it("All messages are new to a client whose id is later than the last one", () => {
    const log = new RoomLog(limits);
    const { id } = log.add("a", "1");
    expect(log.since("a", id + 1)).toMatchObject({ isIncomplete: true, messages: [{ text: "1" }] });
  });

  it("The messages that are kept are bounded in the number of rooms and in size", () => {
    const log = new RoomLog(limits);
    for (let i = 0; i < 1000; i++) log.add(`room ${i}`, "1");
    expect(log.rooms).toBe(10);
    expect(log.since("room 999", 0).messages).toHaveLength(1);
    const large = new RoomLog({ history: 100, keepMs: 60_000, maxRooms: 100_000 });
    const text = "x".repeat(1024 * 1024);
    for (let i = 0; i < 100; i++) large.add(`room ${i}`, text);
    expect(large.rooms).toBeLessThan(33);
  });
});
