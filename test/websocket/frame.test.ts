import { describe, expect, it } from "vitest";
import { Client } from "./client.js";
import { onEachTransport, socketServer } from "./server.js";

/** Around the sizes at which the head of a frame grows, and at which a message is no longer joined to it. */
const sizes = [0, 1, 124, 125, 126, 127, 255, 256, 16_383, 16_384, 16_385, 65_534, 65_535, 65_536, 65_537, 300_000];

onEachTransport("a message to the client", () => {
  describe.each([false, true])("compressed: %s", (compression) => {
    const connect = (url: string) => Client.connect(url, { perMessageDeflate: compression });

    it.each(["x", "é", "🎈"])("A text message of any size arrives as it was sent: text of %s", async (sign) => {
      const messages = sizes.flatMap((size) => {
        const whole = sign.repeat(Math.floor(size / Buffer.byteLength(sign)));
        return [whole + "x".repeat(size - Buffer.byteLength(whole)), whole];
      });
      await using server = await socketServer(
        async (socket) => {
          for (const message of messages) await socket.sendText(message);
        },
        { compression },
      );
      using client = await connect(server.url);
      for (const message of messages) expect((await client.next()) === message, `${message.length}`).toBe(true);
      expect(await client.closed).toMatchObject({ code: 1000 });
    });

    it("A binary message of any size arrives as it was sent", async () => {
      const messages = sizes.map((size) => Uint8Array.from({ length: size }, (_, index) => (index * 7 + size) & 0xff));
      await using server = await socketServer(
        async (socket) => {
          // Not awaited, they keep their order too; and a view of a part of a buffer is that part.
          for (const message of messages) socket.sendBytes(Buffer.concat([message, message]).subarray(message.length));
          await socket.sendText("all");
        },
        { compression },
      );
      using client = await connect(server.url);
      for (const message of messages) expect(Buffer.compare((await client.next()) as Buffer, message)).toBe(0);
      expect(await client.next()).toBe("all");
    });

    it("A text message with half of a surrogate pair arrives with the replacement character", async () => {
      await using server = await socketServer(async (socket) => socket.sendText("a\ud800b"), { compression });
      using client = await connect(server.url);
      expect(await client.next()).toBe("a\ufffdb");
    });
  });
});
