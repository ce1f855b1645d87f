import { setTimeout as delay } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ForbiddenError } from "../../src/errors/http-error.js";
import type { CloseInfo } from "../../src/websocket/channel.js";
import { WebSocketClosedError } from "../../src/websocket/closed-error.js";
import type { WebSocket } from "../../src/websocket/socket.js";
import { Client } from "./client.js";
import { eventually, frame, RawPeer, socketServer } from "./server.js";

const unhandled = vi.fn();
process.on("unhandledRejection", unhandled);
afterEach(() => expect(unhandled).not.toHaveBeenCalled());

describe("the end of a WebSocket", () => {
  it("is 1000 when the handler returns, and the request is finished", async () => {
    await using server = await socketServer(() => {});
    using client = await Client.connect(server.url);
    expect(await client.closed).toEqual({ code: 1000, reason: "" });
    await eventually(() => server.finished.length === 1);
    expect(server.log).toEqual([]);
  });

  it("has the code and reason that the handler chose", async () => {
    let info: CloseInfo | undefined;
    await using server = await socketServer(async (socket) => {
      info = await socket.close(4001, "try later");
    });
    using client = await Client.connect(server.url);
    expect(await client.closed).toEqual({ code: 4001, reason: "try later" });
    await eventually(() => info !== undefined);
    expect(info).toEqual({ code: 4001, reason: "try later" });
  });

  it("has the code and reason that the client chose; recv and iteration end after what was received", async () => {
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

  it("is 1006 when the client vanishes; the signal is aborted, and the handler may end by it unlogged", async () => {
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

  it("is 1011 when the handler throws: logged with method and path, and nothing of it told to the client", async () => {
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

  it("names the class of the error in debug, and no more", async () => {
    await using server = await socketServer(() => {
      throw new TypeError("the password is hunter2");
    });
    server.registry.debug = true;
    using client = await Client.connect(server.url);
    expect(await client.closed).toEqual({ code: 1011, reason: "TypeError" });
  });

  it("is 1011 whatever is thrown", async () => {
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

  it("is 1007 for a message that is not the JSON it should be, 1008 for what is forbidden; neither is our failure", async () => {
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

  it("is not an error of a handler that was in the midst of sending", async () => {
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

  it("throws away what comes after the handler's close, and does not wait for a peer that never answers it", async () => {
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

describe("what breaks the protocol", () => {
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
  ])("ends with 1007: %s", async (_, bytes) => {
    expect(await endFor(frame(1, bytes))).toMatchObject({ sent: 1007, seen: { code: 1007 } });
  });

  it("ends with 1007 for invalid UTF-8 split over fragments", async () => {
    const bytes = Buffer.concat([frame(1, Buffer.from([0x61, 0xe2]), false), frame(0, Buffer.from([0x28, 0xa1]))]);
    expect((await endFor(bytes)).sent).toBe(1007);
  });

  it("takes a character split over fragments", async () => {
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

  it("ends with 1009 for a message over the limit, by what is declared, before a byte of it is there", async () => {
    for (const declared of [101n, 65_536n, 2n ** 32n, 2n ** 53n, 2n ** 62n]) {
      const before = process.memoryUsage().rss;
      const end = await endFor(frame(2, "", true, declared), { maxMessageSize: 100 });
      expect(end).toMatchObject({ sent: 1009, seen: { code: 1009 } });
      expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    }
  });

  it("ends with 1009 for a message over the limit in fragments, each of which is not", async () => {
    const bytes = Buffer.concat([frame(2, Buffer.alloc(60), false), frame(0, Buffer.alloc(60), false)]);
    expect((await endFor(bytes, { maxMessageSize: 100 })).sent).toBe(1009);
  });

  it("takes a message of exactly the limit", async () => {
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

  it("ends with 1008 for a message in countless fragments", async () => {
    const bytes = Buffer.concat([frame(2, "x", false), ...Array(20_000).fill(frame(0, "", false))]);
    expect((await endFor(bytes)).sent).toBe(1008);
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
  ])("ends with 1002: %s", async (_, bytes) => {
    expect(await endFor(bytes)).toMatchObject({ sent: 1002, seen: { code: 1002 } });
  });
});
