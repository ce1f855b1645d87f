import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectPlain } from "node:net";
import { connect } from "node:tls";
import { describe, expect, it } from "vitest";
import { Response } from "../../src/http/response.js";
import { Client, get, parseResponses, start, transports } from "./support.js";

const fixture = (name: string) => readFileSync(new URL(`./fixtures/${name}`, import.meta.url));
const tls = { cert: fixture("cert.pem"), key: fixture("key.pem") };

describe.each(transports)("TLS on the %s transport", (name, factory) => {
  const serve = () => start(factory, (request) => new Response(`${request.url} ${request.source.secure}`), { tls });
  const dial = async (port: number, protocols?: string[]) => {
    const socket = connect({ port, host: "127.0.0.1", ca: tls.cert, ...(protocols && { ALPNProtocols: protocols }) });
    const client = new Client(socket);
    await once(socket, "secureConnect");
    return client;
  };

  it("A TLS connection is encrypted, and the request says so", async () => {
    const { address } = await serve();
    const client = await dial(address.port);
    client.send(get("/x") + get("/y"));
    const responses = await client.responses(2);
    expect(responses.map((response) => response.body)).toEqual(["https://a/x true", "https://a/y true"]);
  });

  it("A TLS connection negotiates HTTP/1.1", async () => {
    const { address } = await serve();
    const client = await dial(address.port, name === "http2" ? ["http/1.1"] : ["h2", "http/1.1"]);
    expect((client.socket as ReturnType<typeof connect>).alpnProtocol).toBe("http/1.1");
    client.socket.destroy();
  });

  it("A TLS connection sends large responses whole", async () => {
    const { address } = await start(factory, () => new Response("x".repeat(5_000_000)), { tls });
    const client = await dial(address.port);
    client.send(get("/", "Connection: close\r\n"));
    expect(parseResponses(await client.readToEnd())[0]!.body).toHaveLength(5_000_000);
  });

  it("A TLS server survives clients that do not speak TLS, and ends handshakes that take too long", async () => {
    const { address } = await start(factory, () => new Response("ok"), { tls, headTimeout: 0.3 });
    const plain = new Client(connectPlain(address.port, "127.0.0.1"));
    plain.send(get("/"));
    await plain.readToEnd();
    const silent = new Client(connectPlain(address.port, "127.0.0.1"));
    await silent.readToEnd();
    const client = await dial(address.port);
    client.send(get("/"));
    expect(await client.responses(1)).toHaveLength(1);
    client.socket.destroy();
  });

  it("A handshake that is under way when draining begins is finished, and its first request has a response", async () => {
    const { address, transport } = await serve();
    const other = await dial(address.port);
    const raw = connectPlain(address.port, "127.0.0.1");
    await once(raw, "connect");
    // Connections are accepted in order.
    const later = await dial(address.port);
    const drained = transport.drain();
    const socket = connect({ socket: raw, ca: tls.cert, checkServerIdentity: () => undefined });
    const client = new Client(socket);
    client.send(get("/late"));
    expect(await client.responses(1)).toMatchObject([
      { status: 200, body: "https://a/late true", headers: { connection: "close" } },
    ]);
    await drained;
    expect(transport.connections).toBe(0);
    for (const { socket } of [other, later]) socket.destroy();
  });

  it("An upgraded connection that closes while the server drains does not cut off a handshake", async () => {
    let isClosed = false;
    const { address, transport } = await start(
      factory,
      (request) => {
        const response = new Response("late");
        if (request.path !== "/ws") return response;
        response.status = 101;
        response.upgrade = (socket) => {
          socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n");
          socket.on("close", () => (isClosed = true));
          socket.on("data", () => socket.destroy());
        };
        return response;
      },
      { tls },
    );
    const upgraded = await dial(address.port);
    upgraded.send(get("/ws", "Connection: Upgrade\r\nUpgrade: websocket\r\n"));
    await upgraded.until((text) => text.includes("101"));
    const raw = connectPlain(address.port, "127.0.0.1");
    await once(raw, "connect");
    // Connections are accepted in order.
    const later = await dial(address.port);
    const drained = transport.drain();
    later.socket.destroy();
    upgraded.send("leave");
    await expect.poll(() => isClosed).toBe(true);
    const client = new Client(connect({ socket: raw, ca: tls.cert, checkServerIdentity: () => undefined }));
    client.send(get("/"));
    expect(await client.responses(1)).toMatchObject([{ status: 200, body: "late" }]);
    await drained;
  });

  it("A handshake that makes no progress does not hold up draining", async () => {
    const { address, transport } = await start(factory, () => new Response("ok"), { tls, headTimeout: 600 });
    const silent = connectPlain(address.port, "127.0.0.1");
    silent.on("error", () => {});
    await once(silent, "connect");
    const other = await dial(address.port);
    await transport.drain();
    expect(transport.connections).toBe(0);
    for (const socket of [silent, other.socket]) socket.destroy();
  });

  it("A TLS server is drained and destroyed as a plain one", async () => {
    const { address, transport } = await serve();
    const client = await dial(address.port);
    client.send(get("/"));
    await client.responses(1);
    expect(transport.connections).toBe(1);
    await transport.drain();
    await client.readToEnd();
    expect(transport.connections).toBe(0);
  });
});
