import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Echo } from "./fixtures/echo_pb.js";
import { addEcho, Peer, type RunningApp, serve } from "./support.js";

let running: RunningApp;
let peer: Peer;

beforeAll(async () => {
  running = await serve(addEcho);
  peer = new Peer(running.target);
});

afterAll(async () => {
  peer.close();
  await running.close();
});

describe("the four kinds of calls, from grpc-js", () => {
  it("A unary call gets its message back", async () => {
    const { messages, code } = await peer.call(Echo.method.say, { text: "héllo", times: 3 });
    expect(code).toBe(0);
    expect(messages).toMatchObject([{ text: "héllo", number: 3 }]);
  });

  it("A server stream gives all messages in order", async () => {
    const { messages, code } = await peer.call(Echo.method.count, { text: "x", times: 500 });
    expect(code).toBe(0);
    expect(messages.map(({ number }) => number)).toEqual(Array.from({ length: 500 }, (_, i) => i + 1));
  });

  it("A client stream is collected into one message", async () => {
    const { messages, code } = await peer.call(
      Echo.method.collect,
      Array.from({ length: 300 }, (_, i) => ({ text: String(i) })),
    );
    expect(code).toBe(0);
    expect(messages[0]?.number).toBe(300);
  });

  it("A bidirectional stream echoes each message", async () => {
    const { messages, code } = await peer.call(Echo.method.chat, [{ text: "a" }, { text: "b" }, { text: "c" }]);
    expect(code).toBe(0);
    expect(messages.map(({ text }) => text)).toEqual(["a", "b", "c"]);
  });

  it("A method without a handler is UNIMPLEMENTED", async () => {
    const { code, details } = await peer.call(Echo.method.unbuilt, {});
    expect(code).toBe(12);
    expect(details).toContain("/test.echo.v1.Echo/Unbuilt");
  });
});
