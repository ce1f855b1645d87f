import { expect, it } from "vitest";
import { WebSocketRegistry } from "../../src/websocket/registry.js";
import { Client } from "./client.js";
import { eventually, onEachTransport, RawPeer, socketServer } from "./server.js";

onEachTransport("closing every WebSocket", () => {
  it("Closing all WebSockets sends 1001 to each peer and waits for the handlers", async () => {
    const ends: number[] = [];
    await using server = await socketServer(async (socket) => {
      const { code } = await socket.closed;
      await new Promise((resolve) => setTimeout(resolve, 20));
      ends.push(code);
    });
    using first = await Client.connect(server.url);
    using second = await Client.connect(server.url);
    await eventually(() => server.registry.size === 2);
    await server.registry.closeAll(1001, "going away");
    expect(ends).toEqual([1001, 1001]);
    expect(server.registry.size).toBe(0);
    for (const client of [first, second]) expect(await client.closed).toEqual({ code: 1001, reason: "going away" });
  });

  it("Closing all WebSockets disconnects a silent peer, and does not wait for a handler that never returns", async () => {
    await using server = await socketServer(() => new Promise(() => {}));
    using peer = new RawPeer(server.port);
    await peer.handshake();
    await eventually(() => server.registry.size === 1);
    await server.registry.closeAll(1001, "", 0.05);
    expect(server.registry.size).toBe(0);
    expect(await peer.closeCode()).toBe(1001);
    await peer.closed();
  });

  it("Closing all WebSockets disconnects a peer that never reads", async () => {
    await using server = await socketServer(async (socket) => {
      while (socket.isOpen) await socket.sendBytes(Buffer.alloc(100_000));
    });
    using peer = new RawPeer(server.port);
    await peer.handshake();
    peer.socket.pause();
    await eventually(() => server.registry.size === 1);
    await server.registry.closeAll(1001, "", 0.05);
    expect(server.registry.size).toBe(0);
    await eventually(() => server.finished.length === 1);
    expect(server.log).toEqual([]);
  });

  it("Closing all without WebSockets does nothing, and an invalid close code is refused", async () => {
    const registry = new WebSocketRegistry();
    await expect(registry.closeAll(1006)).rejects.toThrow("1006 is not a code to close with");
    await registry.closeAll();
    expect(registry.draining).toBe(true);
  });
});
