import { expect, it } from "vitest";
import type { Message } from "../../src/websocket/message.js";
import { Client } from "./client.js";
import { eventually, onEachTransport, RawPeer, socketServer } from "./server.js";

onEachTransport("messages", () => {
  it("Text messages go both ways, also in several languages and empty", async () => {
    await using server = await socketServer(async (socket) => {
      for await (const message of socket) await socket.sendText(`${message.text}!`);
    });
    using client = await Client.connect(server.url);
    for (const text of ["hello", "grüße 🎈", "", "x".repeat(70_000)]) {
      client.ws.send(text);
      expect(await client.next()).toBe(`${text}!`);
    }
  });

  it("Binary messages go both ways, and are distinguished from text", async () => {
    const seen: (Message | null)[] = [];
    await using server = await socketServer(async (socket) => {
      const message = await socket.recv();
      seen.push(message);
      await socket.sendBytes(new Uint8Array([...(message?.bytes ?? []), 4]));
      seen.push(await socket.recv());
    });
    using client = await Client.connect(server.url);
    client.ws.send(Buffer.from([1, 2, 3]));
    expect(await client.next()).toEqual(Buffer.from([1, 2, 3, 4]));
    client.ws.send("text");
    await client.closed;
    expect(seen[0]).toMatchObject({ text: undefined, bytes: Buffer.from([1, 2, 3]) });
    expect(seen[1]).toMatchObject({ text: "text", bytes: undefined });
  });

  it("JSON messages go both ways", async () => {
    await using server = await socketServer(async (socket) => {
      const message = await socket.recv();
      const { n } = message!.json<{ n: number }>();
      await socket.sendJson({ twice: n * 2 });
    });
    using client = await Client.connect(server.url);
    client.ws.send('{"n": 21}');
    expect(await client.next()).toBe('{"twice":42}');
  });

  it("Messages can be sent in the contract's spelling", async () => {
    await using server = await socketServer(async (socket) => {
      await socket.send_text("text");
      await socket.send_bytes(new Uint8Array([1]));
      await socket.send_json([2]);
    });
    using client = await Client.connect(server.url);
    expect([await client.next(), await client.next(), await client.next()]).toEqual(["text", Buffer.from([1]), "[2]"]);
  });

  it("Fragments are joined to a message, with control frames in between", async () => {
    await using server = await socketServer(async (socket) => {
      await socket.sendText((await socket.recv())?.text ?? "");
    });
    using peer = new RawPeer(server.port);
    await peer.handshake();
    peer.send(1, "hel", false);
    peer.send(9, "are you there");
    peer.send(0, "lo", true);
    expect(await peer.frame()).toMatchObject({ opcode: 10, payload: Buffer.from("are you there") });
    expect(await peer.frame()).toMatchObject({ opcode: 1, payload: Buffer.from("hello") });
  });

  it("Messages wait for recv() in order, and recv() waits for messages", async () => {
    let go = (): void => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    await using server = await socketServer(async (socket) => {
      await gate;
      const both = await Promise.all([socket.recv(), socket.recv(), socket.recv()]);
      await socket.sendJson(both.map((message) => message?.text ?? null));
    });
    using client = await Client.connect(server.url);
    client.ws.send("a");
    client.ws.send("b");
    go();
    client.ws.send("c");
    expect(await client.next()).toBe('["a","b","c"]');
  });

  it("Messages that cannot be sent are refused at the call", async () => {
    const errors: string[] = [];
    await using server = await socketServer((socket) => {
      const attempts = [
        () => socket.sendText(1 as unknown as string),
        () => socket.sendBytes("x" as unknown as Uint8Array),
        () => socket.sendJson(undefined),
        () => socket.sendJson({ late: Promise.reject(new Error("late")) }),
        () => socket.close(1006),
        () => socket.close(999),
        () => socket.close(1000, "x".repeat(124)),
      ];
      for (const attempt of attempts) {
        try {
          attempt();
        } catch (error) {
          errors.push((error as Error).message);
        }
      }
    });
    using client = await Client.connect(server.url);
    expect((await client.closed).code).toBe(1000);
    expect(errors).toEqual([
      "sendText takes a string, not 1",
      'sendBytes takes a Uint8Array, not "x"',
      "undefined cannot be sent as JSON",
      "result.late is a promise or a queryset, which has no JSON before it is awaited",
      "1006 is not a code to close with; use 1000 to 1014 or 3000 to 4999",
      "999 is not a code to close with; use 1000 to 1014 or 3000 to 4999",
      "the reason to close with must be a string of at most 123 bytes",
    ]);
  });
});

onEachTransport("the socket", () => {
  it("A socket knows its request, its dependencies and the subprotocol", async () => {
    await using server = await socketServer(
      async (socket, { greeting }) => {
        socket.context["note"] = "kept";
        await socket.sendJson({
          greeting,
          protocol: socket.protocol,
          path: socket.request.path,
          room: socket.query.get("room"),
          params: socket.params,
          note: socket.request.context["note"],
          open: socket.isOpen,
          code: socket.closeCode ?? null,
        });
      },
      { protocols: ["v2"] },
    );
    using client = await Client.connect(`${server.url}?room=7`, {}, ["v1", "v2"]);
    expect(JSON.parse(String(await client.next()))).toEqual({
      greeting: "hello",
      protocol: "v2",
      path: "/chat",
      room: "7",
      params: {},
      note: "kept",
      open: true,
      code: null,
    });
  });

  it("A socket is counted as open until it is closed", async () => {
    await using server = await socketServer(async (socket) => {
      await socket.recv();
    });
    using first = await Client.connect(server.url);
    using second = await Client.connect(server.url);
    await eventually(() => server.registry.size === 2);
    first.ws.close();
    await first.closed;
    await eventually(() => server.registry.size === 1);
    second.ws.close();
    await eventually(() => server.registry.size === 0);
  });
});
