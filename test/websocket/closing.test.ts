import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, it, vi } from "vitest";
import { ForbiddenError } from "../../src/errors/http-error.js";
import type { CloseInfo } from "../../src/websocket/channel.js";
import { WebSocketClosedError } from "../../src/websocket/closed-error.js";
import type { WebSocket } from "../../src/websocket/socket.js";
import { Client } from "./client.js";
import { eventually, frame, handshake, onEachTransport, RawPeer, socketServer } from "./server.js";

const unhandled = vi.fn();
process.on("unhandledRejection", unhandled);
afterEach(() => expect(unhandled).not.toHaveBeenCalled());

onEachTransport("the end of a WebSocket", () => {
  it("A WebSocket closes with 1000 when its handler returns, and its request is finished", async () => {
    await using server = await socketServer(() => {});
    using client = await Client.connect(server.url);
    expect(await client.closed).toEqual({ code: 1000, reason: "" });
    await eventually(() => server.finished.length === 1);
    expect(server.log).toEqual([]);
  });

  it("A WebSocket closes with the code and reason of the handler", async () => {
    let info: CloseInfo | undefined;
    await using server = await socketServer(async (socket) => {
      info = await socket.close(4001, "try later");
    });
    using client = await Client.connect(server.url);
    expect(await client.closed).toEqual({ code: 4001, reason: "try later" });
    await eventually(() => info !== undefined);
    expect(info).toEqual({ code: 4001, reason: "try later" });
  });

  it("A WebSocket closes with the code and reason of the client, and recv() ends after the received messages", async () => {
    const seen: unknown[] = [];
    let socketSeen: WebSocket | undefined;
    await using server = await socketServer(async (socket) => {
      socketSeen = socket;
      await socket.closed;
      for await (const message of socket) seen.push(message.text);
      seen.push(await socket.recv(), await socket.recv(), socket.isOpen, socket.closeCode);
    });
    using client = await Client.connect(server.url);
    client.ws.send("one");
    client.ws.send("two");
    client.ws.close(3000, "done");
    await eventually(() => server.finished.length === 1);
    expect(seen).toEqual(["one", "two", null, null, false, 3000]);
    expect(await socketSeen!.closed).toEqual({ code: 3000, reason: "done" });
  });

  it("A client that vanishes closes the WebSocket with 1006 and aborts the signal, and the handler can end unlogged", async () => {
    const ends: unknown[] = [];
    await using server = await socketServer(async (socket) => {
      socket.signal.addEventListener("abort", () => ends.push(socket.closeCode, socket.signal.reason));
      await delay(60_000, undefined, { signal: socket.signal });
    });
    using client = await Client.connect(server.url);
    await eventually(() => server.registry.size === 1);
    client.ws.terminate();
    await eventually(() => server.finished.length === 1);
    expect(ends[0]).toBe(1006);
    expect(ends[1]).toBeInstanceOf(WebSocketClosedError);
    expect(server.log).toEqual([]);
  });

  it("A handler that throws closes with 1011, is logged with method and path, and tells the client nothing", async () => {
    await using server = await socketServer(async () => {
      throw new TypeError("the password is hunter2");
    });
    using client = await Client.connect(server.url);
    expect(await client.closed).toEqual({ code: 1011, reason: "" });
    await eventually(() => server.finished.length === 1);
    expect(server.log).toMatchObject([
      { level: "error", message: "GET /chat failed", fields: { error: { message: "the password is hunter2" } } },
    ]);
  });

  it("The close reason in debug mode is the class of the error, and no more", async () => {
    await using server = await socketServer(() => {
      throw new TypeError("the password is hunter2");
    });
    server.registry.debug = true;
    using client = await Client.connect(server.url);
    expect(await client.closed).toEqual({ code: 1011, reason: "TypeError" });
  });

  it("Any thrown value closes the WebSocket with 1011", async () => {
    const things: unknown[] = [
      null,
      undefined,
      "text",
      new Proxy(
        {},
        {
          getPrototypeOf: () => {
            throw new Error();
          },
        },
      ),
    ];
    await using server = await socketServer(() => {
      throw things.shift();
    });
    server.registry.debug = true;
    for (const _ of [...things]) {
      using client = await Client.connect(server.url);
      expect((await client.closed).code).toBe(1011);
    }
  });

  it("A message that is not the expected JSON closes with 1007, a forbidden one with 1008, and neither is logged", async () => {
    await using server = await socketServer(async (socket) => {
      const message = await socket.recv();
      if (message?.text === "forbidden") throw new ForbiddenError();
      message?.json();
    });
    for (const [text, code] of [
      ["{", 1007],
      ["[".repeat(200), 1007],
      ['{"__proto__": 1}', 1007],
      ["forbidden", 1008],
    ] as const) {
      using client = await Client.connect(server.url);
      client.ws.send(text);
      expect((await client.closed).code).toBe(code);
    }
    expect(server.log).toEqual([]);
  });

  it("A handler that sends after the close is not an error", async () => {
    const rejected: unknown[] = [];
    await using server = await socketServer(async (socket) => {
      await socket.closed;
      await socket.sendText("too late").catch((error: unknown) => rejected.push(error));
      void socket.sendText("not awaited");
      await socket.sendText("awaited");
    });
    using client = await Client.connect(server.url);
    client.ws.terminate();
    await eventually(() => server.finished.length === 1);
    expect(rejected[0]).toBeInstanceOf(WebSocketClosedError);
    expect(server.log).toEqual([]);
  });

  it("Messages after the handler's close are discarded, and a peer that never confirms it is not awaited", async () => {
    const seen: unknown[] = [];
    await using server = await socketServer(
      async (socket) => {
        await socket.recv();
        const closing = socket.close();
        seen.push(await socket.recv());
        seen.push(await closing);
      },
      { closeTimeout: 0.1 },
    );
    using peer = new RawPeer(server.port);
    await peer.handshake();
    peer.send(1, "first");
    expect(await peer.closeCode()).toBe(1000);
    peer.send(1, "after");
    await peer.closed();
    await eventually(() => seen.length === 2);
    expect(seen).toEqual([null, { code: 1006, reason: "" }]);
  });
});

onEachTransport("violations of the protocol", () => {
  const endFor = async (bytes: Buffer, options = {}): Promise<{ sent: number; seen: CloseInfo | undefined }> => {
    let info: CloseInfo | undefined;
    await using server = await socketServer(async (socket) => {
      expect(await socket.recv()).toBeNull();
      info = await socket.closed;
    }, options);
    using peer = new RawPeer(server.port);
    await peer.handshake();
    peer.socket.write(bytes);
    const sent = await peer.closeCode();
    peer.socket.destroy();
    await eventually(() => info !== undefined);
    expect(server.log).toEqual([]);
    return { sent, seen: info };
  };

  it.each([
    ["invalid UTF-8 in a text message", Buffer.from([0x68, 0xff])],
    ["an overlong form", Buffer.from([0xc0, 0xaf])],
    ["a surrogate", Buffer.from([0xed, 0xa0, 0x80])],
    ["a truncated character", Buffer.from([0xe2, 0x82])],
  ])("An invalid text message closes with 1007: %s", async (_, bytes) => {
    expect(await endFor(frame(1, bytes))).toMatchObject({ sent: 1007, seen: { code: 1007 } });
  });

  it("Invalid UTF-8 split over fragments closes with 1007", async () => {
    const bytes = Buffer.concat([frame(1, Buffer.from([0x61, 0xe2]), false), frame(0, Buffer.from([0x28, 0xa1]))]);
    expect((await endFor(bytes)).sent).toBe(1007);
  });

  it("A character split over fragments is accepted", async () => {
    await using server = await socketServer(async (socket) => {
      await socket.sendText((await socket.recv())?.text ?? "");
    });
    using peer = new RawPeer(server.port);
    await peer.handshake();
    const euro = Buffer.from("€");
    peer.send(1, euro.subarray(0, 1), false);
    peer.send(0, euro.subarray(1));
    expect((await peer.frame()).payload.toString()).toBe("€");
  });

  it("A message whose declared size is over the limit closes with 1009 before any of it arrives", async () => {
    for (const declared of [101n, 65_536n, 2n ** 32n, 2n ** 53n, 2n ** 62n]) {
      const before = process.memoryUsage().rss;
      const end = await endFor(frame(2, "", true, declared), { maxMessageSize: 100 });
      expect(end).toMatchObject({ sent: 1009, seen: { code: 1009 } });
      expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    }
  });

  it("A message whose fragments together are over the limit closes with 1009", async () => {
    const bytes = Buffer.concat([frame(2, Buffer.alloc(60), false), frame(0, Buffer.alloc(60), false)]);
    expect((await endFor(bytes, { maxMessageSize: 100 })).sent).toBe(1009);
  });

  it("A message of exactly the limit is accepted", async () => {
    await using server = await socketServer(
      async (socket) => {
        await socket.sendJson((await socket.recv())?.bytes?.length ?? null);
      },
      { maxMessageSize: 100 },
    );
    using client = await Client.connect(server.url);
    client.ws.send(Buffer.alloc(100));
    expect(await client.next()).toBe("100");
  });

  it("A message in too many fragments closes with 1008", async () => {
    const bytes = Buffer.concat([frame(2, "x", false), ...Array(20_000).fill(frame(0, "", false))]);
    expect((await endFor(bytes)).sent).toBe(1008);
  });

  it("Messages before a bad frame reach the handler, and its responses leave, before 1002", async () => {
    await using server = await socketServer(async (socket) => {
      for await (const message of socket) await socket.sendText(`got ${message.text}`);
    });
    using peer = new RawPeer(server.port);
    await peer.handshake();
    peer.socket.write(Buffer.concat([frame(1, "one"), frame(1, "two"), frame(3, "x"), frame(1, "hidden")]));
    expect((await peer.frame()).payload.toString()).toBe("got one");
    expect((await peer.frame()).payload.toString()).toBe("got two");
    const end = await peer.frame();
    expect([end.opcode, end.payload.readUInt16BE(0)]).toEqual([8, 1002]);
  });

  it("A peer that closes gets its close frame at once, also while the handler has not taken its messages", async () => {
    let closed = false;
    await using server = await socketServer(async (socket) => {
      await socket.closed;
      closed = true;
    });
    using peer = new RawPeer(server.port);
    await peer.handshake();
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    try {
      peer.socket.write(Buffer.concat([frame(1, "never taken"), frame(8, Buffer.from([0x03, 0xe8]))]));
      const end = await peer.frame();
      expect([end.opcode, end.payload.readUInt16BE(0)]).toEqual([8, 1000]);
    } finally {
      vi.useRealTimers();
    }
    peer.socket.end();
    await eventually(() => closed);
  });

  it("The server ends the connection after both close frames, and notices its end while too many messages wait", async () => {
    const ends: number[] = [];
    await using server = await socketServer(
      async (socket) => {
        if (socket.query.get("first") === "server") await socket.close(4000);
        ends.push((await socket.closed).code);
      },
      { maxQueued: 100, closeTimeout: "1d", heartbeat: 0 },
    );
    for (const first of ["client", "server"]) {
      using peer = new RawPeer(server.port);
      await peer.request(handshake().replace("/chat", `/chat?first=${first}`));
      if (first === "server") expect(await peer.closeCode()).toBe(4000);
      peer.socket.write(Buffer.concat([frame(1, "x".repeat(200)), frame(8, Buffer.from([0x0f, 0xa0]))]));
      // The client ends its side only because the server did.
      await peer.closed();
    }
    await eventually(() => ends.length === 2);
    expect(ends).toEqual([4000, 4000]);
  });

  it("A handler that takes nothing does not keep a socket open after a bad frame", async () => {
    await using server = await socketServer(async (socket) => void (await socket.closed));
    using peer = new RawPeer(server.port);
    await peer.handshake();
    peer.socket.write(Buffer.concat([frame(1, "never taken"), frame(3, "x")]));
    const end = await peer.frame();
    expect([end.opcode, end.payload.readUInt16BE(0)]).toEqual([8, 1002]);
  });

  it.each([
    ["an unmasked frame", Buffer.from([0x81, 0x01, 0x61])],
    ["a reserved opcode", frame(3, "x")],
    ["a reserved bit", Buffer.from([0xc1, 0x80, 0, 0, 0, 0])],
    ["a fragment of nothing", frame(0, "x")],
    ["a fragmented ping", frame(9, "x", false)],
    ["a ping that is too long", frame(9, Buffer.alloc(126))],
    ["a closing code that may not be sent", frame(8, Buffer.from([0x03, 0xee]))],
    ["a closing frame of one byte", frame(8, Buffer.from([0x03]))],
  ])("A violation of the protocol closes with 1002: %s", async (_, bytes) => {
    expect(await endFor(bytes)).toMatchObject({ sent: 1002, seen: { code: 1002 } });
  });
});
