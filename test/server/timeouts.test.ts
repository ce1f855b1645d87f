import { describe, expect, it } from "vitest";
import type { Request } from "../../src/http/request.js";
import { Response } from "../../src/http/response.js";
import { untilStill } from "../support/until-still.js";
import { echo, get, parseResponses, settle, start, transports } from "./support.js";

const quick = { headTimeout: 0.3, bodyTimeout: 0.3, keepAliveTimeout: 0.3, writeTimeout: 0.3 };
/** All but one limit are out of reach. */
const patient = { headTimeout: 600, bodyTimeout: 600, bodyTotalTimeout: 600, keepAliveTimeout: 600, writeTimeout: 600 };

describe.each(transports)("a slow client of the %s transport", (_name, factory) => {
  it("A client that sends nothing is disconnected", async () => {
    const { client, transport } = await start(factory, echo, { ...patient, headTimeout: 0.2 });
    await (await client()).readToEnd();
    await expect.poll(() => transport.connections).toBe(0);
  });

  it("A client that sends its head too slowly gets 408 and is disconnected", async () => {
    const { client } = await start(factory, echo, { ...patient, headTimeout: 0.3 });
    const connection = await client("GET / HTTP/1.1\r\nA: ");
    const drip = setInterval(() => connection.send("a"), 20);
    const [response] = parseResponses(await connection.readToEnd());
    clearInterval(drip);
    expect(response!.status).toBe(408);
  });

  it("A client that sends whole header lines too slowly is disconnected too", async () => {
    const { client } = await start(factory, echo, { ...patient, headTimeout: 0.3 });
    const connection = await client("GET / HTTP/1.1\r\n");
    const drip = setInterval(() => connection.send("A: b\r\n"), 20);
    const [response] = parseResponses(await connection.readToEnd());
    clearInterval(drip);
    expect(response!.status).toBe(408);
  });

  it("A client that sends the head of its second request too slowly is disconnected", async () => {
    const { client } = await start(factory, echo, { ...patient, headTimeout: 0.3 });
    const connection = await client(get("/"));
    await connection.responses(1);
    connection.send("GET / HTTP/1.1\r\nA: ");
    const drip = setInterval(() => connection.send("a"), 20);
    await connection.readToEnd();
    clearInterval(drip);
    expect(parseResponses(connection.text).map((response) => response.status)).toEqual([200, 408]);
  });

  it.each([
    ["with a length", "Content-Length: 100\r\n", "hello"],
    ["in chunks", "Transfer-Encoding: chunked\r\n", "5\r\nhel"],
  ])("A client that stops in a body %s gets 408", async (_how, field, part) => {
    const { client } = await start(factory, echo, { ...patient, bodyTimeout: 0.2 });
    const text = await (await client(`POST / HTTP/1.1\r\nHost: a\r\n${field}\r\n${part}`)).readToEnd();
    expect(parseResponses(text)).toMatchObject([{ status: 408, headers: { connection: "close" } }]);
  });

  it("A client that stops in a body that no handler reads gets 408, and a later response of the handler is ignored", async () => {
    let respond = () => {};
    let aborted: unknown;
    const { client, errors } = await start(
      factory,
      (request) => {
        request.signal.addEventListener("abort", () => {
          aborted = request.signal.reason;
        });
        return new Promise<Response>((resolve) => {
          respond = () => resolve(new Response("late"));
        });
      },
      { ...patient, bodyTimeout: 0.2 },
    );
    const connection = await client("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhello");
    await connection.responses(1);
    respond();
    expect(parseResponses(await connection.readToEnd()).map((one) => one.status)).toEqual([408]);
    expect(aborted).toBeDefined();
    expect(errors).toEqual([]);
  });

  it.each([
    ["with a length", "Content-Length: 100\r\n", "x"],
    ["in chunks", "Transfer-Encoding: chunked\r\n", "1\r\nx\r\n"],
  ])("A client that sends a body %s too slowly gets 408", async (_how, field, drop) => {
    const { client } = await start(factory, echo, { ...patient, bodyTimeout: 0.3 });
    const connection = await client(`POST / HTTP/1.1\r\nHost: a\r\n${field}\r\n`);
    const drip = setInterval(() => connection.send(drop), 20);
    const text = await connection.readToEnd();
    clearInterval(drip);
    expect(parseResponses(text)).toMatchObject([{ status: 408 }]);
  });

  it("A client that keeps sending its body is waited for", async () => {
    const { client } = await start(factory, echo, { ...patient, bodyTimeout: 0.4 });
    const head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    const connection = await client(head);
    const silent = await client(head);
    while (!silent.closed) {
      connection.send(`400\r\n${"x".repeat(1024)}\r\n`);
      await settle(20);
    }
    expect(parseResponses(silent.text)).toMatchObject([{ status: 408 }]);
    connection.send("0\r\n\r\n");
    expect((await connection.responses(1))[0]!.status).toBe(200);
  });

  it("A client that sends its body for longer than the total limit gets 408", async () => {
    const { client } = await start(factory, echo, { ...patient, bodyTotalTimeout: 0.3 });
    const connection = await client("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n");
    const drip = setInterval(() => connection.send("x".repeat(1024)), 20);
    const text = await connection.readToEnd();
    clearInterval(drip);
    expect(parseResponses(text)).toMatchObject([{ status: 408, headers: { connection: "close" } }]);
  });

  it("A client of a streamed body can take as long as it makes progress", async () => {
    const { client } = await start(
      factory,
      async (request) => {
        let size = 0;
        for await (const piece of request.source.body!.stream(1_000_000)) size += piece.length;
        return new Response(String(size));
      },
      { ...patient, bodyTotalTimeout: 0.2 },
    );
    const connection = await client("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10240\r\n\r\n");
    for (let i = 0; i < 10; i++) {
      await settle(100);
      connection.send("x".repeat(1024));
    }
    expect((await connection.responses(1))[0]).toMatchObject({ status: 200, body: "10240" });
  });

  it("A client that waits for 100 Continue is not late", async () => {
    let allow = () => {};
    const allowed = new Promise<void>((resolve) => {
      allow = resolve;
    });
    const { client } = await start(
      factory,
      async (request) => {
        if (request.path === "/silent") return echo(request);
        await allowed;
        return new Response(String((await request.source.body!.read(10)).length));
      },
      { ...patient, bodyTimeout: 0.2 },
    );
    const connection = await client("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    const silent = await client("POST /silent HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n");
    expect(parseResponses(await silent.readToEnd())).toMatchObject([{ status: 408 }]);
    allow();
    await connection.until((text) => text.includes("100 Continue"));
    connection.send("hi");
    expect((await connection.responses(1))[0]!.body).toBe("2");
  });

  it("A client that sends no further request is disconnected without a response", async () => {
    const { client } = await start(factory, echo, { ...patient, keepAliveTimeout: 0.2 });
    const connection = await client(get("/"));
    await connection.responses(1);
    expect(parseResponses(await connection.readToEnd())).toHaveLength(1);
  });

  it.each([
    ["text", () => new Response("x".repeat(50_000_000))],
    ["bytes", () => new Response(Buffer.alloc(50_000_000))],
    ["a stream", () => new Response(endless())],
  ])("A client that does not read %s is disconnected, and little is buffered for it", async (_what, respond) => {
    const { client, transport } = await start(factory, respond, { ...patient, writeTimeout: 0.3 });
    const connection = await client();
    connection.socket.pause();
    connection.send(get("/"));
    await expect.poll(() => transport.connections, { timeout: 10_000 }).toBe(1);
    await expect.poll(() => transport.connections, { timeout: 10_000 }).toBe(0);
  });

  it("A stream that sends nothing is ended after a client has ended its side", async () => {
    const source = { isRead: false, isOver: false };
    const silent: AsyncIterator<string> = {
      next() {
        source.isRead = true;
        return new Promise(() => {});
      },
      async return() {
        source.isOver = true;
        return { done: true, value: undefined };
      },
    };
    const respond = () => new Response({ [Symbol.asyncIterator]: () => silent });
    const { client, transport } = await start(factory, respond, { ...patient, writeTimeout: 0.3 });
    const connection = await client(get("/"));
    await expect.poll(() => source.isRead, { timeout: 10_000 }).toBe(true);
    connection.socket.end();
    await expect.poll(() => [source.isOver, transport.connections], { timeout: 20_000 }).toEqual([true, 0]);
  });

  it("A client that reads slowly gets everything", async () => {
    const { client } = await start(factory, () => new Response("x".repeat(8_000_000)), {
      ...patient,
      writeTimeout: 0.5,
    });
    const connection = await client(get("/", "Connection: close\r\n"));
    const { socket } = connection;
    const brake = setInterval(() => {
      socket.pause();
      setTimeout(() => socket.resume(), 50);
    }, 70);
    const text = await connection.readToEnd();
    clearInterval(brake);
    expect(parseResponses(text)[0]?.body.length).toBe(8_000_000);
  });

  it("A client that is still reading its last response is not disconnected", async () => {
    let handled = 0;
    const respond = (request: Request) => {
      if (request.path === "/idle") return new Response("");
      handled++;
      return new Response(Buffer.alloc(200_000));
    };
    const { client } = await start(factory, respond, { ...patient, keepAliveTimeout: 0.2 });
    const connection = await client();
    connection.socket.pause();
    // As much as the system keeps for a client, and more.
    for (let i = 0; i < 100; i++) connection.send(get("/"));
    connection.send(get("/", "Connection: close\r\n"));
    await untilStill(() => handled);
    await (await client(get("/idle"))).readToEnd();
    connection.socket.resume();
    const responses = parseResponses(await connection.readToEnd());
    expect(responses).toHaveLength(101);
  });

  it("A slow client does not delay the others", async () => {
    const { client } = await start(factory, echo, quick);
    const slow = await client("GET / HTTP/1.1\r\n");
    const responses = await (await client(get("/") + get("/"))).responses(2);
    expect(responses).toHaveLength(2);
    await slow.readToEnd();
  });

  it("A client can wait long for a response", async () => {
    let answer = (_: Response) => {};
    const { client } = await start(
      factory,
      (request) => {
        if (request.path === "/idle") return new Response("");
        return new Promise<Response>((resolve) => {
          answer = resolve;
        });
      },
      quick,
    );
    const connection = await client(get("/"));
    for (const bytes of [get("/idle"), "GET / HTTP/1.1\r\n"]) await (await client(bytes)).readToEnd();
    answer(new Response("slow"));
    expect((await connection.responses(1))[0]!.body).toBe("slow");
  });
});

async function* endless(): AsyncGenerator<Uint8Array> {
  for (;;) yield Buffer.alloc(65_536);
}
