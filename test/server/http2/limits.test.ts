import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { HttpError } from "../../../src/errors/http-error.js";
import { problemResponse } from "../../../src/errors/pages/problem.js";
import type { Request } from "../../../src/http/request.js";
import { Response } from "../../../src/http/response.js";
import type { BodyBuffer } from "../../../src/server/body/body-buffer.js";
import type { UnreadResponses } from "../../../src/server/body/unread-responses.js";
import { Client, get as get1, parseResponses } from "../support.js";
import { reply, send, start } from "./client.js";
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  FrameClient,
  frame,
  GOAWAY,
  get,
  HEADERS,
  PING,
  preface,
  request,
  settings,
  uint32,
  WINDOW_UPDATE,
} from "./frames.js";

/** All but one limit are out of reach. */
const patient = { headTimeout: 600, bodyTimeout: 600, bodyTotalTimeout: 600, keepAliveTimeout: 600, writeTimeout: 600 };
const post = (id: number) => frame(HEADERS, END_HEADERS, id, request("/", "POST"));
const hello = () => new Response("hello");

/** Reads with a limit; an error becomes the response, as in the pipeline. */
const reader = (limit = 1_000_000) => {
  return async ({ source }: Request) => {
    try {
      return new Response(String((await source.body!.read(limit)).length));
    } catch (error) {
      return problemResponse(error as HttpError);
    }
  };
};

async function connectTo(address: { host: string; port: number }, ...bytes: Uint8Array[]): Promise<FrameClient> {
  const socket = connect(address.port, address.host);
  const client = new FrameClient(socket);
  await once(socket, "connect");
  client.send(...bytes);
  return client;
}

describe("a slow client of HTTP/2", () => {
  it.each([
    ["nothing", Buffer.alloc(0)],
    ["half of the preface", preface.subarray(0, 10)],
    ["the preface alone", preface],
    ["the preface and half of a frame", Buffer.concat([preface, settings().subarray(0, 5)])],
  ])("A client that sends %s is disconnected", async (_what, bytes) => {
    const { address, transport } = await start(hello, { ...patient, headTimeout: 0.2 });
    await (await connectTo(address, bytes)).end();
    await expect.poll(() => transport.connections).toBe(0);
  });

  it("A client that does not complete a head is disconnected, and this counts as a refusal", async () => {
    const { address, refusals } = await start(hello, { ...patient, headTimeout: 0.3 });
    const client = await FrameClient.open(address);
    client.send(get(1));
    expect(await client.ended(1)).toBe(0);
    client.send(frame(HEADERS, END_STREAM, 3, request()));
    await client.end();
    expect(refusals).toEqual(["REQUEST_TIMEOUT"]);
  });

  it("A client whose head was too large is not taken for one that does not complete its head", async () => {
    const times = { ...patient, headTimeout: 0.2, keepAliveTimeout: 1 };
    const { address, refusals } = await start(hello, { ...times, maxHeadSize: 1000 });
    const client = await FrameClient.open(address);
    client.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, request("/", "GET", [["x", "y".repeat(5000)]])));
    await client.ended(1);
    const ping = await client.until(({ type, flags }) => type === PING && flags === 0);
    client.send(frame(PING, 1, 0, ping!.payload));
    // It ends as an idle one, some time after a head would have been late.
    expect(await client.end()).toBe(0);
    expect(refusals).toEqual([]);
  });

  it("A connection of HTTP/2 without streams is closed with GOAWAY after a while, and PING does not keep it", async () => {
    const { address } = await start(hello, { ...patient, keepAliveTimeout: 0.3 });
    const client = await FrameClient.open(address);
    client.send(get(1));
    await client.ended(1);
    const pings = setInterval(() => client.send(frame(PING, 0, 0, Buffer.alloc(8))), 20);
    expect(await client.end()).toBe(0);
    clearInterval(pings);
  });

  it("A client that stops in a body gets 408, and its connection continues", async () => {
    const { address, refusals } = await start((given) => (given.method === "GET" ? hello() : new Promise(() => {})), {
      ...patient,
      bodyTimeout: 0.2,
    });
    const client = await FrameClient.open(address);
    client.send(post(1), frame(DATA, 0, 1, Buffer.from("hel")));
    expect(await client.ended(1)).toBe(0);
    expect(refusals).toEqual(["REQUEST_TIMEOUT"]);
    client.send(get(3));
    expect(await client.ended(3)).toBe(0);
    client.socket.destroy();
  });

  it.each([
    ["GET", []],
    ["HEAD", []],
    ["POST", [["content-length", "0"]]],
  ] as [string, [string, string][]][])(
    "A %s request with the fields %j whose end its client keeps back gets its response",
    async (method, more) => {
      const { address, refusals } = await start(hello, patient);
      const client = await FrameClient.open(address);
      for (const id of [1, 3]) {
        client.send(frame(HEADERS, END_HEADERS, id, request("/", method, more)));
        expect(await client.ended(id)).toBe(0);
        client.send(frame(DATA, END_STREAM, id));
      }
      expect(
        client.frames
          .filter(({ id, type }) => id > 0 && type === DATA)
          .map(({ payload }) => `${payload}`)
          .join(""),
      ).toBe(method === "HEAD" ? "" : "hellohello");
      expect(refusals).toEqual([]);
      client.socket.destroy();
    },
  );

  it.each(["GET", "HEAD"])("A %s request that never ends gets 408 if there is no response", async (method) => {
    const never = () => new Promise<never>(() => {});
    const { address, refusals } = await start(never, { ...patient, bodyTimeout: 0.2 });
    const client = await FrameClient.open(address);
    client.send(frame(HEADERS, END_HEADERS, 1, request("/", method)));
    expect(await client.ended(1)).toBe(0);
    expect(refusals).toEqual(["REQUEST_TIMEOUT"]);
    expect(client.frames.find(({ id }) => id === 1)?.type).toBe(HEADERS);
    client.socket.destroy();
  });

  it("A GET request whose body comes late can be read", async () => {
    const read = reader();
    let runs = 0;
    const { address } = await start((given) => {
      runs++;
      return read(given);
    }, patient);
    const client = await FrameClient.open(address);
    client.send(frame(HEADERS, END_HEADERS, 1, request("/")));
    await expect.poll(() => runs).toBe(1);
    client.send(frame(DATA, END_STREAM, 1, Buffer.from("hello")));
    expect(await client.ended(1)).toBe(0);
    expect(client.frames.find(({ id, type }) => id === 1 && type === DATA)?.payload.toString()).toBe("5");
    client.socket.destroy();
  });

  it("A client that drips a body gets 408 after bodyTimeout, and after bodyTotalTimeout if it makes progress", async () => {
    const drip = async (limits: object, size: number) => {
      const { dial } = await start(reader(), { ...patient, ...limits });
      const session = await dial();
      const stream = session.request({ ":method": "POST" });
      const timer = setInterval(() => stream.writable && stream.write("x".repeat(size)), 20);
      const { status } = await reply(stream);
      clearInterval(timer);
      session.destroy();
      return status;
    };
    expect(await drip({ bodyTimeout: 0.3 }, 1)).toBe(408);
    expect(await drip({ bodyTimeout: 0.3, bodyTotalTimeout: 1 }, 2000)).toBe(408);
  });

  it("A body over the limit gets 413 over HTTP/2 at once, and the client is told to stop", async () => {
    const { dial } = await start(reader(1000));
    const session = await dial();
    const declared = session.request({ ":method": "POST", "content-length": "100000000" });
    expect(await reply(declared)).toMatchObject({ status: 413, code: 0 });
    const undeclared = session.request({ ":method": "POST" });
    const timer = setInterval(() => undeclared.writable && undeclared.write("x".repeat(500)), 5);
    expect(await reply(undeclared)).toMatchObject({ status: 413, code: 0 });
    clearInterval(timer);
    expect((await send(session, { ":method": "POST" }, "fits")).body).toBe("4");
  });

  it("A body that is not read is held back by the window", async () => {
    const { dial } = await start(() => new Promise(() => {}));
    const session = await dial();
    const stream = session.request({ ":method": "POST" });
    stream.on("error", () => {});
    stream.write(Buffer.alloc(5_000_000));
    let before = -1;
    const sent = () => session.socket.bytesWritten;
    await expect.poll(() => before === (before = sent()), { interval: 200 }).toBe(true);
    expect(sent()).toBeLessThan(1_000_000);
  });

  it("Beyond maxUnreadMemory the connection is ended after five seconds whose client has read nothing for the longest", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { address, abuses, transport } = await start(() => new Response("x".repeat(50_000)), {
      ...patient,
      maxUnreadMemory: 1_000_000,
    });
    const { unread } = transport as unknown as { readonly unread: UnreadResponses };
    const ids = [1, 3, 5, 7, 9, 11];
    // The windows of its streams are closed: 300,000 bytes wait for each client.
    const stuck = async () => {
      const client = await FrameClient.open(address, [[4, 0]]);
      client.send(...ids.map((id) => get(id)));
      for (const id of ids) await client.until((one) => one.type === HEADERS && one.id === id);
      return client;
    };
    const take = async (client: FrameClient, id: number) => {
      client.send(frame(WINDOW_UPDATE, 0, 0, uint32(50_000)), frame(WINDOW_UPDATE, 0, id, uint32(50_000)));
      expect(await client.ended(id)).toBe(0);
    };
    const clients = [await stuck(), await stuck(), await stuck()];
    expect([unread.used, abuses]).toEqual([900_000, []]);
    // The first one reads: now the second has read nothing for the longest.
    await take(clients[0]!, 1);
    await expect.poll(() => unread.used).toBe(850_000);
    clients.push(await stuck());
    expect([unread.used, abuses]).toEqual([1_150_000, []]);
    vi.advanceTimersByTime(5000);
    await clients[1]!.end();
    expect(abuses).toEqual(["RESPONSES_UNREAD"]);
    expect(unread.used).toBe(850_000);
    for (const client of clients.toSpliced(1, 1)) {
      for (const id of ids) if (client !== clients[0] || id !== 1) await take(client, id);
    }
    await expect.poll(() => unread.used).toBe(0);
    for (const { socket } of clients) socket.destroy();
  });

  it("While the memory of connections that were ended for unread responses is not free, no handler runs", async () => {
    let handled = 0;
    let tooSoon = 0;
    let isFreeing = false;
    const { address } = await start(
      () => {
        handled++;
        if (isFreeing) tooSoon++;
        return new Response("x".repeat(50_000));
      },
      {
        ...patient,
        maxUnreadMemory: 100_000,
        onAbuse: () => {
          isFreeing = true;
          setImmediate(() => (isFreeing = false));
        },
      },
    );
    const clients = await Promise.all(Array.from({ length: 20 }, () => FrameClient.open(address, [[4, 0]])));
    // The server reads the requests of all of them in one turn of the event loop.
    for (const client of clients) client.send(...[1, 3, 5, 7].map((id) => get(id)));
    await expect.poll(() => handled).toBe(80);
    expect(tooSoon).toBe(0);
    for (const { socket } of clients) socket.destroy();
  });

  it("A large body counts as unread whole, from its first part on; bytes that responses share count once", async () => {
    const bytes = Buffer.alloc(500_000);
    const { address, abuses, transport } = await start(
      ({ path }) => new Response(path === "/bytes" ? bytes : "x".repeat(500_000)),
      { ...patient, maxUnreadMemory: 4_000_000 },
    );
    const { unread } = transport as unknown as { readonly unread: UnreadResponses };
    const ids = [1, 3, 5, 7];
    const part = 65_536;
    const stuck = async (path: string) => {
      const client = await FrameClient.open(address, [[4, 0]]);
      client.send(...ids.map((id) => get(id, path)));
      return client;
    };
    const shared = [await stuck("/bytes"), await stuck("/bytes"), await stuck("/bytes")];
    await expect.poll(() => unread.used).toBe(500_000 + 12 * part);
    for (const { socket } of shared) socket.destroy();
    await expect.poll(() => unread.used).toBe(0);
    const clients = [await stuck("/"), await stuck("/"), await stuck("/")];
    await expect.poll(() => unread.used).toBe(12 * (500_000 + part));
    expect(abuses).toEqual([]);
    // Beyond twice the bound the one is ended at once that has read nothing for the longest.
    clients.push(await stuck("/"));
    await Promise.race(clients.map((client) => client.end()));
    await expect.poll(() => unread.used).toBe(12 * (500_000 + part));
    expect(abuses).toEqual(["RESPONSES_UNREAD"]);
    for (const { socket } of clients) socket.destroy();
    await expect.poll(() => unread.used).toBe(0);
  });

  it.each([["in parts"], ["as a stream"]])("A response that is sent %s counts as unread too", async (how) => {
    async function* pieces(): AsyncGenerator<string> {
      for (let i = 0; i < 10; i++) yield "x".repeat(50_000);
    }
    const { address, abuses } = await start(() => new Response(how === "in parts" ? "x".repeat(500_000) : pieces()), {
      ...patient,
      maxUnreadMemory: 50_000,
    });
    const client = await FrameClient.open(address, [[4, 0]]);
    client.send(...[1, 3, 5, 7].map((id) => get(id)));
    await client.end();
    expect(abuses).toEqual(["RESPONSES_UNREAD"]);
  });

  it("Bodies of HTTP/2 and HTTP/1.1 share the memory for bodies", async () => {
    let arrived = () => 0;
    const read = reader();
    const { address, dial } = await start(
      (given) => {
        arrived = () => (given.source.body as BodyBuffer).arrived;
        return read(given);
      },
      { maxBodyMemory: 10_000 },
    );
    const session = await dial();
    const first = session.request({ ":method": "POST" });
    first.on("error", () => {});
    first.write(Buffer.alloc(12_000));
    await expect.poll(() => arrived()).toBe(12_000);
    const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n";
    const client = new Client(connect(address.port, address.host)).send(head);
    expect((await client.responses(1))[0]?.status).toBe(503);
    client.socket.destroy();
  });
});

describe("connections of HTTP/2", () => {
  it("Connections beyond the maximum are refused, whatever they speak", async () => {
    const { address, dial, transport } = await start(hello, { maxConnections: 2 });
    const session = await dial();
    expect((await send(session)).status).toBe(200);
    const old = new Client(connect(address.port, address.host)).send(get1("/"));
    await old.responses(1);
    expect(transport.connections).toBe(2);
    const third = await connectTo(address, preface, settings());
    await third.end();
    expect(third.frames).toEqual([]);
    session.destroy();
    await expect.poll(() => transport.connections).toBe(1);
    expect((await send(await dial())).status).toBe(200);
    old.socket.destroy();
  });

  it("Draining finishes the streams of a connection, tells the client with GOAWAY, and closes idle ones", async () => {
    let respond = () => {};
    const { address, transport, dial } = await start(({ path }) =>
      path === "/slow"
        ? new Promise((resolve) => {
            respond = () => resolve(new Response("slow"));
          })
        : hello(),
    );
    const idle = await dial();
    await send(idle);
    const idleClosed = once(idle, "close");
    const client = await FrameClient.open(address);
    client.send(get(1, "/slow"));
    await expect.poll(() => respond.toString()).toContain("resolve");
    let isDrained = false;
    const drained = transport.drain().then(() => {
      isDrained = true;
    });
    const goaway = await client.until(({ type }) => type === GOAWAY);
    expect([goaway!.payload.readUInt32BE(0), goaway!.payload.readUInt32BE(4)]).toEqual([1, 0]);
    await idleClosed;
    expect(isDrained).toBe(false);
    respond();
    expect(await client.ended(1)).toBe(0);
    expect(await client.end()).toBe(0);
    await drained;
    expect(transport.connections).toBe(0);
  });

  it("Draining serves the first request of a connection that was accepted just before, in either protocol", async () => {
    const { address, transport } = await start(hello);
    const two = await connectTo(address);
    const one = new Client(connect(address.port, address.host));
    await expect.poll(() => transport.connections).toBe(2);
    const drained = transport.drain();
    two.send(preface, settings(), get(1));
    one.send(get1("/"));
    expect(await two.ended(1)).toBe(0);
    expect(parseResponses(await one.readToEnd())).toMatchObject([{ status: 200, headers: { connection: "close" } }]);
    await drained;
  });

  it("Destroying ends connections with streams at once", async () => {
    const { dial, transport } = await start(() => new Promise(() => {}));
    const session = await dial();
    const stream = reply(session.request({ ":path": "/" }));
    await new Promise((resolve) => session.ping(resolve));
    transport.destroy();
    expect((await stream).status).toBe(0);
    await expect.poll(() => transport.connections).toBe(0);
  });

  it("A client that keeps its socket open after the end of a connection is disconnected", async () => {
    const { address, transport } = await start(hello, { ...patient, keepAliveTimeout: 0.2 });
    const socket = connect({ port: address.port, host: address.host, allowHalfOpen: true });
    socket.on("error", () => {});
    socket.resume();
    await once(socket, "connect");
    socket.write(Buffer.concat([preface, settings(), frame(4, 1, 0)]));
    await once(socket, "end");
    await expect.poll(() => transport.connections, { timeout: 20_000 }).toBe(0);
  });
});
