import type { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { Response } from "../../../src/http/response.js";
import { get, onEachEngine, start } from "../support.js";

onEachEngine("limits of the native transport with %s", (factory) => {
  const upgradeTo = (handle: (socket: Duplex, head: Buffer) => void) => () => {
    const response = new Response(null);
    response.status = 101;
    response.upgrade = handle;
    return response;
  };

  it("An upgraded connection counts as one until it is closed", async () => {
    const { client, transport } = await start(
      factory,
      upgradeTo((socket) => {
        socket.resume().on("end", () => socket.end());
        socket.write("upgraded");
      }),
      { maxConnections: 1 },
    );
    const ask = get("/", "Connection: Upgrade\r\nUpgrade: websocket\r\n");
    const first = await client(ask);
    await first.until((text) => text.includes("upgraded"));
    expect(transport.connections).toBe(1);
    expect(await (await client(ask)).readToEnd()).toBe("");
    first.socket.destroy();
    await expect.poll(() => transport.connections).toBe(0);
    const next = await client(ask);
    await next.until((text) => text.includes("upgraded"));
    expect(next.text).toContain("upgraded");
  });

  it("A client that reads nothing of a response before an upgrade gets every byte of both, in order", async () => {
    const size = 8_000_000;
    const { client } = await start(factory, (request) =>
      request.path === "/large" ? new Response("x".repeat(size)) : upgradeTo((socket) => void socket.end("upgraded"))(),
    );
    const connection = await client();
    connection.socket.pause();
    connection.send(get("/large") + get("/", "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
    // The server has written as much as it can when it waits.
    await new Promise((resolve) => setTimeout(resolve, 100));
    connection.socket.resume();
    const text = await connection.readToEnd();
    expect(text.endsWith(`${"x".repeat(100)}upgraded`)).toBe(true);
    expect(text.length).toBeGreaterThan(size);
  });

  it("Bytes that a client sends while it takes the response before an upgrade reach the new protocol", async () => {
    let seen = "";
    const { client } = await start(factory, (request) =>
      request.path === "/large"
        ? new Response("x".repeat(4_000_000))
        : upgradeTo((socket, head) => {
            seen = head.toString("latin1");
            socket.on("data", (bytes) => void (seen += bytes)).on("end", () => socket.end());
            socket.write("upgraded");
          })(),
    );
    const connection = await client();
    let sent = "";
    let isOver = false;
    // Some of these arrive in the turn in which the server has sent the last byte of the response.
    connection.socket.on("data", () => {
      isOver ||= connection.text.endsWith("upgraded");
      if (isOver) return;
      const byte = String.fromCharCode(97 + (sent.length % 26));
      sent += byte;
      connection.send(byte);
    });
    connection.send(get("/large") + get("/", "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
    await expect.poll(() => isOver).toBe(true);
    connection.socket.end();
    await connection.readToEnd();
    expect(seen).toBe(sent);
  });

  it("A body that slowly arrives and one that is held do not change with the bytes of others", async () => {
    const { client } = await start(factory, async (request) => {
      const body = request.source.body;
      return new Response(body ? Buffer.from(await body.read(1_000_000)) : "none");
    });
    const slow = await client("POST / HTTP/1.1\r\nHost: a\r\nX-Long: ");
    for (const part of ["abc\r\nContent-", "Length: 6\r\n", "\r\n12", "34", "56"]) {
      await (await client(get("/", `X-Other: ${"o".repeat(5000)}\r\n`))).responses(1);
      slow.send(part);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect((await slow.responses(1))[0]).toMatchObject({ status: 200, body: "123456" });
  });
});
