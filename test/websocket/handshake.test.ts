import { expect, it } from "vitest";
import {
  frame,
  handshake,
  handshakeLines,
  onEachTransport,
  onHttp1Transports,
  RawPeer,
  socketServer,
} from "./server.js";

const echo = async (socket: {
  recv(): Promise<{ text: string | undefined } | null>;
  sendText(text: string): unknown;
}) => {
  for (let message = await socket.recv(); message; message = await socket.recv()) socket.sendText(message.text ?? "");
};

onHttp1Transports("the handshake", () => {
  it("The handshake of RFC 6455's example succeeds, with the headers that middleware set", async () => {
    await using server = await socketServer(echo);
    using peer = new RawPeer(server.port);
    const { status, head } = await peer.handshake();
    expect(status).toBe(101);
    expect(head).toContain("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n");
    expect(head).toContain("X-Request-ID: r1\r\n");
    expect(head).toContain("Set-Cookie: seen=yes; Path=/\r\n");
    expect(head.match(/^connection:/gim)).toHaveLength(1);
  });

  it("A message in the same packet as the handshake is not lost, also on a later connection", async () => {
    await using server = await socketServer(echo);
    for (const round of ["first", "second"]) {
      using peer = new RawPeer(server.port);
      const bytes = Buffer.concat([Buffer.from(handshake()), frame(1, round)]);
      const { status } = await peer.request(bytes.toString("latin1"));
      expect(status).toBe(101);
      expect((await peer.frame()).payload.toString()).toBe(round);
    }
  });

  it.each([
    ["version 8", { "Sec-WebSocket-Version": "8" }],
    ["no version", { "Sec-WebSocket-Version": undefined }],
    ["two versions", { "Sec-WebSocket-Version": "13, 13" }],
    ["a version that is 13 in other words", { "Sec-WebSocket-Version": "013" }],
  ])("A handshake with %s gets 426 that names version 13", async (_, fields) => {
    await using server = await socketServer(echo);
    using peer = new RawPeer(server.port);
    const { status, head } = await peer.handshake(fields);
    expect(status).toBe(426);
    expect(head).toMatch(/^sec-websocket-version: 13\r$/im);
    expect(head).toMatch(/^upgrade: websocket\r$/im);
  });

  it.each([
    ["no key", { "Sec-WebSocket-Key": undefined }],
    ["an empty key", { "Sec-WebSocket-Key": "" }],
    ["a key of 15 bytes", { "Sec-WebSocket-Key": Buffer.alloc(15).toString("base64") }],
    ["a key of 17 bytes", { "Sec-WebSocket-Key": Buffer.alloc(17).toString("base64") }],
    ["a key that is not base64", { "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25j!Q==" }],
    ["a key with stray bits", { "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZR==" }],
    ["two keys", { "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==" }],
    ["a subprotocol that is no token", { "Sec-WebSocket-Protocol": "a b" }],
    ["an empty subprotocol", { "Sec-WebSocket-Protocol": "chat,," }],
  ])("A handshake with %s gets 400", async (_, fields) => {
    await using server = await socketServer(echo);
    using peer = new RawPeer(server.port);
    const { status } = await peer.request(handshake(fields));
    expect(status).toBe(400);
    expect(server.registry.size).toBe(0);
  });

  it.each([
    ["HTTP/1.0", handshake().replace("HTTP/1.1", "HTTP/1.0")],
    ["POST", `${handshake({ "Content-Length": "0" }).replace("GET", "POST")}`],
    ["a body", `${handshake({ "Content-Length": "1" })}x`],
    ["no Upgrade field", handshake({ Upgrade: undefined })],
    ["another protocol", handshake({ Upgrade: "h2c" })],
    ["no Connection field", handshake({ Connection: undefined })],
  ])("A handshake with %s gets 426", async (_, head) => {
    await using server = await socketServer(echo);
    using peer = new RawPeer(server.port);
    expect((await peer.request(head)).status).toBe(426);
    expect(server.registry.size).toBe(0);
  });

  it("A handshake while the application drains gets 503", async () => {
    await using server = await socketServer(echo);
    await server.registry.closeAll();
    using peer = new RawPeer(server.port);
    expect((await peer.handshake()).status).toBe(503);
  });
});

onEachTransport("the subprotocol", () => {
  const chosen = async (offered: string | undefined, protocols: string[]): Promise<string | undefined> => {
    await using server = await socketServer(echo, { protocols });
    using peer = new RawPeer(server.port);
    const { status, head } = await peer.handshake({ "Sec-WebSocket-Protocol": offered });
    expect(status).toBe(101);
    return /^sec-websocket-protocol: (.*)\r$/im.exec(head)?.[1];
  };

  it("The subprotocol is the first one of the client that the route supports", async () => {
    expect(await chosen("x, b, a", ["a", "b"])).toBe("b");
  });

  it("No subprotocol is sent if the route supports none of the client's, or the client offers none", async () => {
    expect(await chosen("x, y", ["a"])).toBeUndefined();
    expect(await chosen("x", [])).toBeUndefined();
    expect(await chosen(undefined, ["a"])).toBeUndefined();
  });
});

onEachTransport("the origin", () => {
  const status = async (
    origin: string | undefined,
    options: Parameters<typeof socketServer>[1] = {},
    host = handshakeLines["Host"],
  ): Promise<number> => {
    await using server = await socketServer(echo, options);
    using peer = new RawPeer(server.port);
    return (await peer.handshake({ Origin: origin, Host: host })).status;
  };

  it("A handshake without Origin is accepted, for clients that are not browsers", async () => {
    expect(await status(undefined)).toBe(101);
    expect(await status(undefined, { origins: ["https://a.example"] })).toBe(101);
  });

  it.each([
    ["http://app.example", "app.example"],
    ["https://app.example", "app.example"],
    ["https://app.example", "app.example:443"],
    ["http://app.example:8000", "app.example:8000"],
    ["https://app.example", "APP.example"],
    ["http://[::1]:8000", "[::1]:8000"],
  ])("The origin %s is the same host as %s", async (origin, host) => {
    expect(await status(origin, {}, host)).toBe(101);
  });

  it.each([
    ["http://evil.example", "app.example"],
    ["http://app.example.evil.example", "app.example"],
    ["http://evilapp.example", "app.example"],
    ["http://app.example:8001", "app.example:8000"],
    ["http://app.example:8000", "app.example"],
    ["null", "app.example"],
    ["", "app.example"],
    ["file://app.example", "app.example"],
    ["http://user@app.example", "app.example"],
    ["http://app.example/path", "app.example"],
    ["http://app.example, http://evil.example", "app.example"],
    ["app.example", "app.example"],
  ])("The origin %j is refused with 403 at the host %s", async (origin, host) => {
    expect(await status(origin, {}, host)).toBe(403);
  });

  it("The origin is compared exactly with a list", async () => {
    const origins = ["https://app.example", "https://b.example:443", "capacitor://localhost"];
    expect(await status("https://app.example", { origins })).toBe(101);
    expect(await status("https://b.example", { origins })).toBe(101);
    expect(await status("capacitor://localhost", { origins })).toBe(101);
    expect(await status("http://app.example", { origins })).toBe(403);
    expect(await status("https://app.example.evil.example", { origins })).toBe(403);
    expect(await status("https://127.0.0.1", { origins })).toBe(403);
  });

  it('The option "*" accepts any origin', async () => {
    expect(await status("http://evil.example", { origins: "*" })).toBe(101);
    expect(await status("null", { origins: ["*"] })).toBe(101);
  });

  it("A function decides about the origin, and only true accepts it", async () => {
    const seen: unknown[] = [];
    const only = (origin: string | undefined, request: { path: string }): boolean => {
      seen.push(origin, request.path);
      return origin === "http://good.example";
    };
    expect(await status("http://good.example", { origins: only })).toBe(101);
    expect(await status(undefined, { origins: only })).toBe(403);
    expect(seen).toEqual(["http://good.example", "/chat", undefined, "/chat"]);
  });

  it("A function that returns a promise about the origin is an error of the program, also if it is rejected", async () => {
    const accepted = async () => true;
    const rejected = async () => Promise.reject(new Error("no database"));
    for (const origins of [accepted, rejected] as unknown as (() => boolean)[]) {
      expect(await status("http://good.example", { origins })).toBe(500);
    }
  });
});
