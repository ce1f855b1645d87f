import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Duplex, duplexPair } from "node:stream";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Response } from "../../src/http/response.js";
import { createNodeListener, createNodeUpgradeListener } from "../../src/server/node/transport.js";
import { Client, echo, get, openClient, parseResponses, settle, start, transports } from "./support.js";

const hello = () => new Response("hello");

/** A response that comes when `respond` is called. */
function slow() {
  let respond = (_text: string) => {};
  let asked = false;
  const dispatch = () => {
    asked = true;
    return new Promise<Response>((resolve) => {
      respond = (text) => resolve(new Response(text));
    });
  };
  return { dispatch, asked: () => asked, respond: (text: string) => respond(text) };
}

describe.each(transports)("listening with the %s transport", (_name, factory) => {
  it("A server that listens on port 0 reports the real port", async () => {
    const { address } = await start(factory, hello);
    expect(address.port).toBeGreaterThan(0);
  });

  it("A server on an address that is in use rejects", async () => {
    const { address } = await start(factory, hello);
    await expect(start(factory, hello, {}, address)).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  it("A server can listen on a Unix socket", async () => {
    const folder = await mkdtemp(join(tmpdir(), "stoa-"));
    const path = join(folder, "socket");
    const { client, transport } = await start(factory, hello, {}, { host: "", port: 0, path });
    expect((await (await client(get("/"))).responses(1))[0]!.body).toBe("hello");
    transport.destroy();
    await rm(folder, { recursive: true });
  });

  it.each(["close", "Close", "close, foo", "foo, close", "keep-alive, close"])(
    "A connection is closed after a request with Connection: %s",
    async (value) => {
      const { exchange } = await start(factory, hello);
      const request = get("/", `Connection: ${value}\r\n`);
      expect(parseResponses(await exchange(request + get("/")))).toHaveLength(1);
    },
  );

  it("Connections beyond the maximum are refused", async () => {
    const { client, transport } = await start(factory, hello, { maxConnections: 2 });
    const first = await client(get("/"));
    const second = await client(get("/"));
    await Promise.all([first.responses(1), second.responses(1)]);
    const third = await client(get("/"));
    expect(await third.readToEnd()).toBe("");
    first.socket.destroy();
    await expect.poll(() => transport.connections).toBe(1);
    expect(await (await client(get("/"))).responses(1)).toHaveLength(1);
  });

  it("A server responds while a thousand connections stay half open", async () => {
    const { client, address } = await start(factory, hello);
    const idle = await Promise.all(Array.from({ length: 1000 }, () => openClient(address, "GET / HT")));
    expect((await (await client(get("/"))).responses(1))[0]!.body).toBe("hello");
    for (const connection of idle) connection.socket.destroy();
  });

  it("A server survives clients that reset the connection", async () => {
    const { client, transport } = await start(factory, echo);
    for (const bytes of ["", "GET", get("/"), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"]) {
      const connection = await client(bytes);
      connection.socket.resetAndDestroy();
    }
    await expect.poll(() => transport.connections).toBe(0);
    expect(await (await client(get("/"))).responses(1)).toHaveLength(1);
  });
});

describe.each(transports)("draining the %s transport", (name, factory) => {
  it("Draining serves the first request of a connection that was accepted just before", async () => {
    const { transport, client } = await start(factory, () => new Response("late but in time"));
    const late = await client();
    while (transport.connections === 0) await new Promise((resolve) => setImmediate(resolve));
    const drained = transport.drain();
    late.send(get("/"));
    expect(await late.responses(1)).toMatchObject([{ status: 200, headers: { connection: "close" } }]);
    await drained;
  });

  it.skipIf(name === "node")(
    "Draining for another server serves one more request of a client in the middle of its work",
    async () => {
      // Time passes only where the test says so: the grace never ends.
      vi.useFakeTimers({ toFake: ["setInterval", "setTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      const { transport, client } = await start(factory, hello);
      const busy = await client();
      busy.send(get("/"));
      await busy.responses(1);
      const drained = transport.drain(true);
      busy.send(get("/"));
      expect(await busy.responses(2)).toMatchObject([
        { status: 200 },
        { status: 200, headers: { connection: "close" } },
      ]);
      await drained;
    },
  );

  it("Draining does not wait for the first request of a connection that was accepted long ago", async () => {
    // Time passes only where the test says so: the grace for new connections never ends.
    vi.useFakeTimers({ toFake: ["setInterval", "setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { transport, client } = await start(factory, hello);
    const silent = await client();
    while (transport.connections === 0) await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(3000);
    await transport.drain();
    expect(await silent.readToEnd()).toBe("");
  });

  it("Draining waits for requests in flight, closes idle connections, and accepts no new ones", async () => {
    const { dispatch, respond, asked } = slow();
    const { client, transport, address } = await start(factory, dispatch);
    const idle = await client();
    const busy = await client(get("/"));
    await expect.poll(asked).toBe(true);
    const drained = transport.drain();
    expect(await idle.readToEnd()).toBe("");
    await expect(openClient(address)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    respond("late");
    const [last] = parseResponses(await busy.readToEnd());
    expect(last).toMatchObject({ body: "late", headers: { connection: "close" } });
    await drained;
    expect(transport.connections).toBe(0);
  });

  it("Draining closes connections that wait for their next request", async () => {
    const { client, transport } = await start(factory, hello);
    const connection = await client(get("/"));
    await connection.responses(1);
    await transport.drain();
    await connection.readToEnd();
  });

  it("Draining ends at once without connections", async () => {
    const { transport } = await start(factory, hello);
    await transport.drain();
  });

  it("Draining that is begun twice ends both times", async () => {
    const { dispatch, respond, asked } = slow();
    const { client, transport } = await start(factory, dispatch);
    const busy = await client(get("/"));
    await expect.poll(asked).toBe(true);
    const drained = [transport.drain(), transport.drain()];
    respond("late");
    expect(await busy.responses(1)).toMatchObject([{ body: "late" }]);
    await Promise.all(drained);
  });

  it("Draining can be cut short by destroy()", async () => {
    const { dispatch, asked } = slow();
    const { client, transport } = await start(factory, dispatch);
    const connection = await client(get("/"));
    await expect.poll(asked).toBe(true);
    const drained = transport.drain();
    transport.destroy();
    expect(await connection.readToEnd()).toBe("");
    await drained;
  });

  it("Draining closes a connection after the body that was being sent", async () => {
    let end!: () => void;
    const gate = new Promise<void>((resolve) => (end = resolve));
    const body = async function* (): AsyncGenerator<string> {
      yield "begun";
      await gate;
      yield "ended";
    };
    const { transport, client } = await start(factory, () => Response.stream(body()));
    const waiting = await client(get("/"));
    await expect.poll(() => waiting.text).toContain("begun");
    const drained = transport.drain();
    end();
    expect(await waiting.readToEnd()).toContain("ended");
    await drained;
  });
});

describe.each(transports)("a connection accepted elsewhere, on the %s transport", (_name, factory) => {
  it("A connection that was accepted elsewhere is served, whatever kind of stream it is", async () => {
    const { transport } = await start(factory, echo);
    const [ours, theirs] = duplexPair();
    transport.accept(theirs);
    const client = new Client(ours as unknown as Client["socket"]);
    const sent = Buffer.from(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n",
    );
    const copy = Buffer.from(sent);
    client.send(sent);
    expect(JSON.parse((await client.responses(1))[0]!.body).body).toBe("hi!");
    expect(sent.equals(copy), "the sender's bytes are not ours to change").toBe(true);
    client.send(get("/x"));
    expect(JSON.parse((await client.responses(2))[1]!.body).target).toBe("/x");
    ours.end();
    await expect.poll(() => transport.connections).toBe(0);
  });
});

describe.each(transports)("an upgrade on the %s transport", (_name, factory) => {
  const ask = (fields: string, method = "GET", version = "1.1") =>
    `${method} /ws HTTP/${version}\r\nHost: a\r\n${fields}\r\n`;
  const webSocket = "Connection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n";

  const upgrade = () => {
    const response = new Response(null);
    response.status = 101;
    response.upgrade = (socket: Duplex, head: Buffer) => {
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n\r\n[${head.toString("latin1")}]`);
      socket.on("data", (chunk: Buffer) => socket.write(`<${chunk.toString("latin1")}>`));
    };
    return response;
  };

  it("An upgrade gets the socket with the bytes behind the request", async () => {
    const { client, transport } = await start(factory, (request) => {
      expect(request.source.wantsWebSocket).toBe(true);
      return request.path === "/ws" ? upgrade() : hello();
    });
    const connection = await client(`${ask(webSocket)}more`);
    await connection.until((text) => text.includes("[more]"));
    connection.send("ping");
    await connection.until((text) => text.includes("<ping>"));
    expect(transport.connections).toBe(1);
    await transport.drain();
    connection.send("still");
    await connection.until((text) => text.includes("<still>"));
    transport.destroy();
    await connection.readToEnd();
  });

  it("An upgrade can be decided later", async () => {
    const { client } = await start(factory, async () => {
      await settle(20);
      return upgrade();
    });
    const connection = await client(ask(webSocket));
    await settle(5);
    connection.send("early");
    await connection.until((text) => /\[early\]|<early>/.test(text));
  });

  it("An upgrade can be refused as any request", async () => {
    const { client } = await start(factory, () => new Response("no", 403));
    expect((await (await client(ask(webSocket))).responses(1))[0]).toMatchObject({ status: 403, body: "no" });
  });

  it.each([
    ["POST", ask(`${webSocket}Content-Length: 0\r\n`, "POST")],
    ["HTTP/1.0", ask(webSocket, "GET", "1.0")],
    ["a missing Connection option", ask("Upgrade: websocket\r\n")],
    ["h2c", ask("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n")],
  ])("A request with %s is not an upgrade", async (_what, bytes) => {
    const { client } = await start(factory, (request) => new Response(String(request.source.wantsWebSocket)));
    const [response] = await (await client(bytes)).responses(1);
    expect(response).toMatchObject({ status: 200, body: "false" });
  });
});

describe("a connection that is refused", () => {
  it("A refused connection that breaks does no harm", async () => {
    const { transport } = await start(transports[0]![1], hello);
    await transport.drain();
    const broken = new Duplex({ read() {}, destroy: (_error, done) => done(new Error("broken")) });
    const closed = new Promise((resolve) => broken.on("close", resolve));
    transport.accept(broken);
    await closed;
    expect(transport.connections).toBe(0);
  });
});

describe("a client that ends its side early", () => {
  it("A client that ends its side early still gets its response, and the request is aborted", async () => {
    const { dispatch, respond, asked } = slow();
    let aborted = false;
    const { client } = await start(transports[0]![1], (request) => {
      request.signal.addEventListener("abort", () => {
        aborted = true;
      });
      return dispatch();
    });
    const connection = await client(get("/"));
    connection.socket.end();
    await expect.poll(asked).toBe(true);
    await expect.poll(() => aborted).toBe(true);
    respond("after all");
    expect(parseResponses(await connection.readToEnd())[0]!.body).toBe("after all");
  });

  it("A client that ends its side within a request gets 400", async () => {
    const { client } = await start(transports[0]![1], echo);
    const connection = await client("GET / HTTP/1.1\r\nHost");
    connection.socket.end();
    expect(parseResponses(await connection.readToEnd())[0]!.status).toBe(400);
  });
});

describe("an application mounted in an http.Server", () => {
  it("An application in an http.Server refuses two lengths, even if that server's parser is lenient", async () => {
    const server = createServer({ insecureHTTPParser: true }, createNodeListener(echo)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const client = await openClient({ host: "127.0.0.1", port });
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    expect((await client.responses(1))[0]!.status).toBe(400);
    server.closeAllConnections();
    server.close();
  });

  it("An application in an http.Server handles requests and upgrades", async () => {
    const dispatch = (request: Parameters<typeof echo>[0]) => {
      if (!request.source.wantsWebSocket) return echo(request);
      const response = new Response(null);
      response.status = 101;
      response.upgrade = (socket) => void socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\nup");
      return response;
    };
    const server = createServer(createNodeListener(dispatch));
    server.on("upgrade", createNodeUpgradeListener(dispatch));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const client = new Client(connect(port, "127.0.0.1"));
    client.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
    expect(JSON.parse((await client.responses(1))[0]!.body)).toMatchObject({ target: "/x", body: "hi" });
    client.send(get("/", "Connection: upgrade\r\nUpgrade: websocket\r\n"));
    expect(await client.readToEnd()).toContain("up");
    server.close();
  });
});
