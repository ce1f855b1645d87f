import { describe, expect, it, vi } from "vitest";
import { Inbox } from "../../src/websocket/inbox.js";
import { Message } from "../../src/websocket/message.js";

const message = (text = ""): Message => new Message(Buffer.from(text), false);

function fill(inbox: Inbox, count: number, size: number): void {
  for (let i = 0; i < count; i++) inbox.put(message(), size);
}

describe("waiting messages", () => {
  it("Waiting messages over the limit pause the peer once, and it resumes at half of the limit", async () => {
    const flow = { pause: vi.fn(), resume: vi.fn() };
    const inbox = new Inbox(flow, 10_000);
    fill(inbox, 9, 1000);
    expect(flow.pause).not.toHaveBeenCalled();
    fill(inbox, 3, 1000);
    expect(flow.pause).toHaveBeenCalledTimes(1);
    for (let i = 0; i < 7; i++) await inbox.take();
    expect(flow.resume).not.toHaveBeenCalled();
    await inbox.take();
    expect(flow.resume).toHaveBeenCalledTimes(1);
  });

  it("Empty messages count towards the limit of waiting messages", () => {
    const flow = { pause: vi.fn(), resume: vi.fn() };
    fill(new Inbox(flow, 10_000), 1000, 0);
    expect(flow.pause).toHaveBeenCalled();
  });

  it("A message goes to the first waiting reader, and does not pause the peer", async () => {
    const flow = { pause: vi.fn(), resume: vi.fn() };
    const inbox = new Inbox(flow, 10);
    const takers = [inbox.take(), inbox.take()];
    inbox.put(message("a"), 1000);
    inbox.put(message("b"), 1000);
    expect((await Promise.all(takers)).map((taken) => taken?.text)).toEqual(["a", "b"]);
    expect(flow.pause).not.toHaveBeenCalled();
    expect(inbox.cost).toBe(0);
  });

  it("Waiting messages can be read after the end, and later reads give null", async () => {
    const inbox = new Inbox({ pause() {}, resume() {} }, 1000);
    inbox.put(message("a"), 1);
    inbox.end();
    inbox.put(message("late"), 1);
    expect((await inbox.take())?.text).toBe("a");
    expect(await inbox.take()).toBeNull();
  });

  it("Waiting messages that are discarded let the peer resume", async () => {
    const flow = { pause: vi.fn(), resume: vi.fn() };
    const inbox = new Inbox(flow, 10);
    fill(inbox, 3, 100);
    inbox.discard();
    expect(flow.resume).toHaveBeenCalledTimes(1);
    expect(inbox.cost).toBe(0);
    expect(await inbox.take()).toBeNull();
  });

  it("The inbox reports once that the peer was paused since the last question", async () => {
    const inbox = new Inbox({ pause() {}, resume() {} }, 10);
    expect(inbox.wasPaused()).toBe(false);
    inbox.put(message(), 100);
    await inbox.take();
    expect(inbox.wasPaused()).toBe(true);
    expect(inbox.wasPaused()).toBe(false);
  });
});
