import { describe, expect, it, vi } from "vitest";
import type { DirectSocket } from "../../src/http/source.js";
import { Channel } from "../../src/websocket/channel.js";
import { FrameSocket } from "../../src/websocket/frame-socket.js";
import { socketSettings } from "../../src/websocket/options.js";

/** A socket of which the system takes as much as it is told to. */
class SlowSocket implements DirectSocket {
  writableLength = 0;
  bytesWritten = 0;
  isDestroyed = false;

  write(data: string | Uint8Array): boolean {
    this.bytesWritten += data.length;
    this.writableLength += data.length;
    return false;
  }

  take(bytes: number): void {
    this.writableLength -= bytes;
  }

  destroy(): void {
    this.isDestroyed = true;
  }

  end(): void {}
  pause(): void {}
  resume(): void {}
}

function channel(maxBuffered: number): { wire: SlowSocket; raw: FrameSocket; channel: Channel } {
  const settings = socketSettings({ maxBuffered, heartbeat: 0 });
  const wire = new SlowSocket();
  const raw = new FrameSocket(wire, "", settings);
  return { wire, raw, channel: new Channel(raw, settings.limits) };
}

describe("a socket of which something always waits", () => {
  it("A peer that reads steadily is kept, although the system has never taken everything", async () => {
    const { wire, channel: sender } = channel(1000);
    const settled: number[] = [];
    for (let i = 0; i < 50; i++) {
      sender.sendText("x".repeat(500)).then(
        () => settled.push(i),
        () => {},
      );
      if (i > 0) wire.take(504);
    }
    expect(wire.isDestroyed).toBe(false);
    expect(sender.isOpen).toBe(true);
    await Promise.resolve();
    expect(settled).toEqual(Array.from({ length: 48 }, (_, i) => i));
  });

  it("A message that the system has taken in part only is not done", async () => {
    const { wire, raw, channel: sender } = channel(1000);
    let done = 0;
    for (let i = 0; i < 2; i++) void sender.sendText("x".repeat(100)).then(() => done++);
    wire.take(101);
    void sender.sendText("x").then(() => done++);
    await Promise.resolve();
    expect(done).toBe(0);
    wire.take(1);
    raw.drained();
    await Promise.resolve();
    expect(done).toBe(1);
  });

  it("Messages that wait when the connection ends are rejected", async () => {
    const { raw, channel: sender } = channel(1000);
    const sending = sender.sendText("lost");
    raw.gone();
    await expect(sending).rejects.toThrow("the WebSocket is closed");
    expect((await sender.closed).code).toBe(1006);
  });
});

describe("the end of a socket that is no stream", () => {
  it("Nothing can be sent once the client has ended its side, or the connection was given up", async () => {
    for (const end of [(raw: FrameSocket) => raw.ended(), (raw: FrameSocket) => raw.terminate()]) {
      const { raw, channel: sender } = channel(1000);
      end(raw);
      expect(sender.isOpen).toBe(false);
      await expect(sender.sendText("late")).rejects.toThrow("the WebSocket is closed");
    }
  });

  it("The end is told once, and leaves no timer", () => {
    vi.useFakeTimers();
    try {
      const { raw, channel: sender } = channel(1000);
      let ends = 0;
      void sender.close();
      raw.on("close", () => ends++);
      expect(vi.getTimerCount()).toBe(1);
      raw.gone();
      raw.gone();
      expect([ends, vi.getTimerCount()]).toEqual([1, 0]);
    } finally {
      vi.useRealTimers();
    }
  });
});
