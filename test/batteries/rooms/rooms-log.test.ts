import type { Logger } from "stoa";
import { describe, expect, it } from "vitest";
import { MemoryRoomStore } from "../../../src/batteries/rooms/memory-store.js";
import { roomsOptions } from "../../../src/batteries/rooms/options.js";
import { Rooms } from "../../../src/batteries/rooms/rooms.js";
import { unhandledIn } from "../../support/unhandled.js";

class AbsentStore extends MemoryRoomStore {
  override send(): never {
    throw new Error("the store is away");
  }
}

class RejectingStore extends MemoryRoomStore {
  override open = async (): Promise<never> => this.#fail("open");
  override exit = async (): Promise<never> => this.#fail("exit");
  override unwatch = async (): Promise<never> => this.#fail("unwatch");

  #fail(what: string): never {
    throw new Error(`${what} failed`);
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

  it("Rejections of a store that nobody waits for are logged", async () => {
    const lines: string[] = [];
    const write = (text: string, fields?: Record<string, unknown>): void =>
      void lines.push(`${text}: ${(fields?.["error"] as Error | undefined)?.message}`);
    const logger: Logger = { debug: write, info: write, warn: write, error: write, child: () => logger };
    const reasons = await unhandledIn(async () => {
      const rooms = new Rooms(roomsOptions.read([]), new RejectingStore(), logger);
      const events = rooms.room("lobby").subscribe()[Symbol.asyncIterator]();
      void events.next();
      for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
      await events.return?.();
    });
    expect(reasons).toEqual([]);
    // The lines that follow within ten seconds are counted.
    expect(lines).toEqual(["the store of rooms failed: open failed"]);
  });
});
