import { deflateRawSync } from "node:zlib";
import { expect, it } from "vitest";
import type { UnreadResponses } from "../../src/server/body/unread-responses.js";
import type { CloseInfo } from "../../src/websocket/channel.js";
import { WebSocketClosedError } from "../../src/websocket/closed-error.js";
import { MessageRate } from "../../src/websocket/message-rate.js";
import type { WebSocket } from "../../src/websocket/socket.js";
import { untilStill } from "../support/until-still.js";
import { Client } from "./client.js";
import { eventually, frame, handshake, onEachTransport, onHttp1Transports, RawPeer, socketServer } from "./server.js";

onEachTransport("a peer that sends faster than the handler takes", () => {
  it("A peer that sends faster than the handler reads is paused, and no message is lost", async () => {
    let take = (): void => {};
    const gate = new Promise<void>((resolve) => {
      take = resolve;
    });
    let sum = 0;
    await using server = await socketServer(
      async (socket) => {
        await gate;
        for await (const message of socket) sum += message.bytes!.length;
      },
      { maxQueued: 64 * 1024 },
    );
    using client = await Client.connect(server.url);
    const piece = Buffer.alloc(100_000);
    let taken = 0;
    const sending = (async () => {
      for (; taken < 400; taken++) await new Promise((resolve) => client.ws.send(piece, resolve));
    })();
    await untilStill(() => taken);
    // What the kernel holds on both sides is far less.
    expect(taken).toBeLessThan(300);
    take();
    await sending;
    client.ws.close();
    await client.closed;
    await eventually(() => server.finished.length === 1);
    expect(sum).toBe(40_000_000);
  });

  it("A handler can close the WebSocket without reading the waiting messages", async () => {
    let end: CloseInfo | undefined;
    await using server = await socketServer(
      async (socket) => {
        await socket.recv();
        await new Promise((resolve) => setTimeout(resolve, 50));
        end = await socket.close();
      },
      { maxQueued: 100, closeTimeout: 3 },
    );
    using client = await Client.connect(server.url);
    for (let i = 0; i < 100; i++) client.ws.send(Buffer.alloc(10_000));
    expect((await client.closed).code).toBe(1000);
    await eventually(() => end !== undefined);
    expect(end?.code).toBe(1000);
  });
});

onEachTransport("a peer that never reads", () => {
  it("An awaited send waits for a peer that never reads, with one message buffered", async () => {
    let sent = 0;
    let socket: WebSocket | undefined;
    await using server = await socketServer(
      async (opened) => {
        socket = opened;
        for (;;) {
          await opened.sendBytes(Buffer.alloc(64 * 1024));
          sent++;
        }
      },
      { heartbeat: 0 },
    );
    using peer = new RawPeer(server.port);
    await peer.handshake();
    peer.socket.pause();
    const before = await untilStill(() => sent);
    expect(socket!.bufferedAmount).toBeLessThan(70 * 1024);
    peer.socket.resume();
    await eventually(() => sent > before + 10);
    peer.socket.destroy();
    await eventually(() => server.finished.length === 1);
    expect(server.log).toEqual([]);
  });

  it("A peer is disconnected if sends are not awaited and more than four times the limit waits", async () => {
    const ends: CloseInfo[] = [];
    let rejection: unknown;
    await using server = await socketServer(
      async (socket) => {
        const sends: Promise<void>[] = [];
        for (let i = 0; i < 1000; i++) sends.push(socket.sendBytes(Buffer.alloc(100_000)));
        await sends.at(-1)!.catch((error: unknown) => {
          rejection = error;
        });
        ends.push(await socket.closed);
      },
      { maxBuffered: 1_000_000 },
    );
    using peer = new RawPeer(server.port);
    await peer.handshake();
    peer.socket.pause();
    await eventually(() => ends.length === 1);
    expect(ends[0]).toEqual({
      code: 1006,
      reason: "the peer takes messages slower than they are sent; await each send",
    });
    expect(rejection).toBeInstanceOf(WebSocketClosedError);
  });

  it("A peer is disconnected if it reads nothing for the send timeout while too much waits", async () => {
    let end: CloseInfo | undefined;
    await using server = await socketServer(
      async (socket) => {
        for (let i = 0; i < 4; i++) void socket.sendBytes(Buffer.alloc(8_000_000));
        end = await socket.closed;
      },
      { maxBuffered: 8_000_000, sendTimeout: 0.1, heartbeat: 0 },
    );
    using peer = new RawPeer(server.port);
    await peer.handshake();
    peer.socket.pause();
    await eventually(() => end !== undefined);
    expect(end).toEqual({ code: 1006, reason: "the peer does not take what it is sent" });
  });

  it("What waits for the client of a WebSocket counts in maxUnreadMemory, and its connection ends beyond twice as much", async () => {
    const codes: string[] = [];
    let end: CloseInfo | undefined;
    await using server = await socketServer(
      async (socket) => {
        // The system takes some of them.
        for (let i = 0; i < 500; i++) void socket.sendBytes(Buffer.alloc(100_000));
        end = await socket.closed;
      },
      { maxBuffered: 100_000_000, heartbeat: 0 },
      undefined,
      { maxUnreadMemory: 9_000_000, onAbuse: (code) => codes.push(code) },
    );
    using peer = new RawPeer(server.port);
    peer.socket.write(handshake());
    peer.socket.pause();
    await eventually(() => end !== undefined);
    expect([end?.code, codes]).toEqual([1006, ["RESPONSES_UNREAD"]]);
    const { unread } = server.transport as unknown as { readonly unread?: UnreadResponses };
    await eventually(() => unread === undefined || unread.used === 0);
  });

  it("Ten peers that never read cost little memory", async () => {
    let ended = 0;
    await using server = await socketServer(async (socket) => {
      for (let i = 0; i < 100_000 && socket.isOpen; i++) void socket.sendText("x".repeat(1000));
      ended++;
    });
    const before = process.memoryUsage().rss;
    const peers = Array.from({ length: 10 }, () => new RawPeer(server.port));
    for (const peer of peers) {
      await peer.handshake();
      peer.socket.pause();
    }
    await eventually(() => ended === 10);
    expect(process.memoryUsage().rss - before).toBeLessThan(60 * 1024 * 1024);
    for (const peer of peers) peer[Symbol.dispose]();
  });

  it("A peer that never reads cannot fill the memory with pings: beyond a bound only the latest is answered", async () => {
    let socket: WebSocket | undefined;
    await using server = await socketServer(
      async (opened) => {
        socket = opened;
        await opened.closed;
      },
      { heartbeat: 0 },
    );
    using peer = new RawPeer(server.port);
    await peer.handshake();
    await eventually(() => socket !== undefined);
    peer.socket.pause();
    const pings = Buffer.concat(Array(1000).fill(frame(9, Buffer.alloc(125))));
    for (let i = 0; i < 100; i++) {
      if (!peer.socket.write(pings)) await new Promise<void>((resolve) => peer.socket.once("drain", resolve));
    }
    peer.send(9, "the last");
    await new Promise<void>((resolve) => peer.socket.write("", () => resolve()));
    expect(socket!.bufferedAmount).toBeLessThan(64 * 150);
    peer.socket.resume();
    for (;;) {
      const { opcode, payload } = await peer.frame();
      expect(opcode).toBe(10);
      if (payload.toString() === "the last") break;
    }
  });
});

onEachTransport("pings", () => {
  it("Each of several pings that arrive together gets its pong, in order", async () => {
    await using server = await socketServer(async (socket) => void (await socket.closed), { heartbeat: 0 });
    using peer = new RawPeer(server.port);
    await peer.handshake();
    const names = Array.from({ length: 10 }, (_, i) => `ping ${i}`);
    peer.socket.write(Buffer.concat(names.map((name) => frame(9, name))));
    const pongs: string[] = [];
    for (const _ of names) pongs.push((await peer.frame()).payload.toString());
    expect(pongs).toEqual(names);
  });
});

onEachTransport("pings after the end", () => {
  it("A ping that comes after the close frame of the server gets no pong, and no heartbeat follows it", async () => {
    await using server = await socketServer(() => {}, { heartbeat: 0.01, closeTimeout: 0.5 });
    using peer = new RawPeer(server.port);
    await peer.handshake();
    expect(await peer.closeCode()).toBe(1000);
    peer.send(9, "too late");
    await expect(peer.frame()).rejects.toThrow("the connection ended with 0 bytes unread");
  });
});

onEachTransport("the heartbeat", () => {
  it("The heartbeat keeps a peer that responds, and disconnects one that does not", async () => {
    const ends = new Map<string, CloseInfo>();
    await using server = await socketServer(
      async (socket) => {
        ends.set(socket.query.get("name") ?? "silent", await socket.closed);
      },
      { heartbeat: 0.2 },
    );
    using answers = await Client.connect(`${server.url}?name=answers`);
    using talks = new RawPeer(server.port);
    using silent = new RawPeer(server.port);
    await talks.request(`GET /chat?name=talks HTTP/1.1\r\n${handshakeRest}`);
    await silent.handshake();
    const talking = setInterval(() => talks.send(10, "unasked"), 10);
    let pings = 0;
    answers.ws.on("ping", () => pings++);
    await silent.closed();
    await eventually(() => pings >= 5 && ends.has("silent"));
    clearInterval(talking);
    expect([...ends]).toEqual([["silent", { code: 1006, reason: "the peer did not send a pong" }]]);
    expect(answers.ws.readyState).toBe(1);
  });

  it("The heartbeat does not disconnect a peer while the server does not read from it", async () => {
    let end: CloseInfo | undefined;
    let read = (): void => {};
    const reading = new Promise<void>((resolve) => {
      read = resolve;
    });
    await using server = await socketServer(
      async (socket) => {
        if (socket.query.get("name") === "silent") return void (await socket.closed);
        await reading;
        for await (const message of socket) if (message.text === "last") break;
        await socket.sendText("got it");
        end = await socket.closed;
      },
      { heartbeat: 0.1, maxQueued: 100 },
    );
    using client = await Client.connect(server.url);
    for (let i = 0; i < 50; i++) client.ws.send("x".repeat(1000));
    client.ws.send("last");
    using silent = new RawPeer(server.port);
    await silent.request(`GET /chat?name=silent HTTP/1.1\r\n${handshakeRest}`);
    await silent.closed();
    read();
    expect(await client.next()).toBe("got it");
    client.ws.close(1000);
    await eventually(() => end !== undefined);
    expect(end?.code).toBe(1000);
  });

  it("A long message that is still arriving counts as a heartbeat", async () => {
    await using server = await socketServer(
      async (socket) => {
        await socket.sendText(String((await socket.recv())?.text?.length));
      },
      { heartbeat: 0.1 },
    );
    using peer = new RawPeer(server.port);
    await peer.handshake();
    const bytes = frame(1, "x".repeat(60));
    for (const byte of bytes) {
      peer.socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    for (;;) {
      const { opcode, payload } = await peer.frame();
      if (opcode !== 1) continue;
      expect(payload.toString()).toBe("60");
      break;
    }
  });
});

onHttp1Transports("compression", () => {
  const offer = { "Sec-WebSocket-Extensions": "permessage-deflate" };

  it("Compression is off by default", async () => {
    await using server = await socketServer((socket) => socket.recv());
    using peer = new RawPeer(server.port);
    expect((await peer.handshake(offer)).head).not.toMatch(/extensions/i);
  });

  it("Compression works in both directions without a window kept between messages", async () => {
    await using server = await socketServer(
      async (socket) => {
        for await (const message of socket) await socket.sendText(message.text ?? "");
      },
      { compression: true },
    );
    using peer = new RawPeer(server.port);
    const { head } = await peer.handshake(offer);
    expect(head).toContain("server_no_context_takeover");
    expect(head).toContain("client_no_context_takeover");
    using client = await Client.connect(server.url, { perMessageDeflate: true });
    for (const text of ["short", "long ".repeat(1000)]) {
      client.ws.send(text);
      expect(await client.next()).toBe(text);
    }
  });

  it("A compression bomb closes with 1009 and takes little memory", async () => {
    await using server = await socketServer((socket) => socket.recv(), { compression: true });
    using peer = new RawPeer(server.port);
    await peer.handshake(offer);
    const bomb = deflateRawSync(Buffer.alloc(100_000_000), { level: 9 });
    expect(bomb.length).toBeLessThan(200_000);
    const before = process.memoryUsage().rss;
    const bytes = frame(2, bomb);
    bytes[0]! |= 0x40;
    peer.socket.write(bytes);
    expect(await peer.closeCode()).toBe(1009);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
  });

  it("Many small compression bombs cannot fill the queue of a handler that does not read", async () => {
    let end: CloseInfo | undefined;
    await using server = await socketServer(
      async (socket) => {
        end = await socket.closed;
      },
      { compression: true },
    );
    using peer = new RawPeer(server.port);
    await peer.handshake(offer);
    const one = frame(2, deflateRawSync(Buffer.alloc(1_000_000), { level: 9 }));
    one[0]! |= 0x40;
    peer.socket.write(Buffer.concat(Array(60).fill(one)));
    expect(await peer.closeCode()).toBe(1008);
    peer.socket.destroy();
    await eventually(() => end !== undefined);
    expect(end).toEqual({ code: 1008, reason: "too many messages at once" });
  });

  it("A message that cannot be inflated closes with 1007", async () => {
    await using server = await socketServer((socket) => socket.recv(), { compression: true });
    using peer = new RawPeer(server.port);
    await peer.handshake(offer);
    const bytes = frame(2, Buffer.from([0xff, 0xff, 0xff, 0xff]));
    bytes[0]! |= 0x40;
    peer.socket.write(bytes);
    expect(await peer.closeCode()).toBe(1007);
  });

  it("An invalid offer of the compression extension gets 400, and the request is finished", async () => {
    await using server = await socketServer((socket) => socket.recv(), { compression: true });
    using peer = new RawPeer(server.port);
    const { status } = await peer.handshake({
      "Sec-WebSocket-Extensions": "permessage-deflate; server_max_window_bits=99",
    });
    expect(status).toBe(400);
    await eventually(() => server.finished.length === 1);
    expect(server.registry.size).toBe(0);
  });
});

const handshakeRest =
  "Host: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

onEachTransport("a client with a limit of messages", () => {
  it("A client that sends more messages than messageRate and messageBurst allow is closed with 1008, with a line in the log", async () => {
    const taken: (string | undefined)[] = [];
    await using server = await socketServer(
      async (socket) => {
        for await (const message of socket) {
          taken.push(message.text);
          await socket.sendText("taken");
        }
      },
      { messageRate: 0.001, messageBurst: 3 },
    );
    const flood = async (): Promise<void> => {
      using client = await Client.connect(server.url);
      for (const text of ["1", "2", "3"]) {
        client.ws.send(text);
        expect(await client.next()).toBe("taken");
      }
      for (const text of ["4", "5", "6"]) client.ws.send(text);
      expect(await client.closed).toEqual({ code: 1008, reason: "too many messages" });
    };
    await flood();
    await flood();
    await eventually(() => server.finished.length === 2);
    expect(taken).toEqual(["1", "2", "3", "1", "2", "3"]);
    expect(server.log).toEqual([
      {
        level: "warn",
        message: "a WebSocket was closed: the client sent more messages than messageRate allows",
        fields: { path: "/chat", client: "127.0.0.1" },
      },
    ]);
  });

  it("A client within its rate is not closed, and has its burst again when it was slower", () => {
    const rate = new MessageRate(10, 3);
    const allowed = [0, 0, 0, 0, 99, 100, 150, 200, 500, 500, 500, 500, 600, 700];
    expect(allowed.filter((now) => !rate.take(now))).toEqual([0, 99, 150, 500]);
  });
});
