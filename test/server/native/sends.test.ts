import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import type { NativeSocket } from "../../../src/server/native/native-socket.js";
import type { Wire } from "../../../src/server/native/wire.js";
import { onEachEngine } from "../support.js";

/** Nothing of one piece looks like a part of another one, or of another connection. */
const pieceOf = (connection: number, number: number): string => `${connection}.${number};`.padEnd(8000, `${number}`);

onEachEngine("sending on the native transport with %s", (_factory, _engine, opened) => {
  it("Clients that do not read get every byte in order when they read again", async () => {
    const wire = opened as Wire;
    const sockets: NativeSocket[] = [];
    const id = wire.listen("127.0.0.1", 0, 16, -1, {
      opened: (socket) => void sockets.push(socket),
      refused: () => {},
    });
    onTestFinished(() => wire.unlisten(id));
    const clients = [];
    for (let n = 0; n < 3; n++) {
      const client = connect(wire.addon.port(id), "127.0.0.1");
      onTestFinished(() => void client.destroy());
      clients.push(client);
      await once(client, "connect");
      await expect.poll(() => sockets.length).toBe(n + 1);
    }
    const sent = ["", "", ""];
    let number = 0;
    // Further pieces follow when the system takes no more, and several pieces of a connection leave together with others.
    for (let more = 20; more > 0; ) {
      for (let times = 0; times < 3; times++, number++) {
        for (const [n, socket] of sockets.entries()) {
          sent[n] += pieceOf(n, number);
          socket.write(pieceOf(n, number), "latin1");
        }
      }
      await new Promise((resolve) => setImmediate(resolve));
      if (sockets.every((socket) => socket.writableLength > 0)) more--;
    }
    for (const socket of sockets) socket.end();
    const received = await Promise.all(clients.map((client) => text(client)));
    for (const [n, whole] of received.entries()) expect(whole === sent[n], `connection ${n}`).toBe(true);
  });
});
