import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Request } from "../../../src/http/request.js";
import { Response } from "../../../src/http/response.js";
import { defaultHttp2 } from "../../../src/server/http2/fields.js";
import { createHttp2Transport } from "../../../src/server/http2/transport.js";
import { echo, startForAll, start as startTransport } from "../support.js";
import { open, reply, send, start } from "./client.js";
import {
  CANCEL,
  DATA,
  END_HEADERS,
  END_STREAM,
  FrameClient,
  fields,
  frame,
  get,
  HEADERS,
  PING,
  RST_STREAM,
  request,
  uint32,
} from "./frames.js";

/** Fields that RFC 9113 forbids for the white space around their value. Older versions of Node drop them. */
const outerSpace: [name: string, value: string][] = [
  ["x", " a"],
  ["x", "a\t"],
  ["cookie", " "],
];
const seesOuterSpace = Number.parseInt(process.versions.node, 10) >= 22;

interface Seen {
  readonly method: string;
  readonly target: string;
  readonly headers: string[];
  readonly body: string | null;
}

describe("a request of HTTP/2", () => {
  const server = startForAll(createHttp2Transport, echo);
  const ask = async (headers: object = {}, body?: string) => {
    const session = await open(`http://127.0.0.1:${server().address.port}`);
    return send(session, { ":authority": "a", ...headers }, body);
  };
  const seen = async (headers: object = {}, body?: string): Promise<Seen> => {
    const response = await ask(headers, body);
    expect(response.status).toBe(200);
    return JSON.parse(Buffer.from(response.body, "latin1").toString()) as Seen;
  };
  /** The status of a request with exactly these fields; the code of RST_STREAM if the stream is reset. */
  const raw = async (list: [string, string][]): Promise<number> => {
    const client = await FrameClient.open(server().address);
    client.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, fields(list)));
    const first = await client.until(({ id }) => id === 1);
    client.socket.destroy();
    if (first?.type === RST_STREAM) return first.payload.readUInt32BE(0);
    // nghttp2 sends the statuses of the static table as one byte (RFC 7541 appendix A).
    return { 136: 200, 140: 400 }[first!.payload[0]!] ?? 0;
  };
  const line = (path = "/", scheme = "http"): [string, string][] => [
    [":method", "GET"],
    [":scheme", scheme],
    [":path", path],
  ];

  it("A request of HTTP/2 has the method, target and fields that were sent", async () => {
    expect(await seen({ ":method": "DELETE", ":path": "/a%20b?c=d&e", "X-One": "two", b: "\xe9" })).toEqual({
      method: "DELETE",
      target: "/a%20b?c=d&e",
      headers: ["host", "a", "x-one", "two", "b", "\xe9"],
      body: null,
    });
  });

  it.each(["GET", "POST", "PUT", "PATCH", "OPTIONS", "QUERY", "PROPFIND", "M-SEARCH", "BREW"])(
    "A request of HTTP/2 can have the method %s",
    async (method) => {
      expect((await seen({ ":method": method })).method).toBe(method);
    },
  );

  it("A request of HTTP/2 knows its version", async () => {
    const { ask } = await start(({ source }) => new Response(source.httpVersion));
    expect((await ask()).body).toBe("2");
  });

  it("A request of HTTP/2 for the whole server has the target *", async () => {
    expect((await seen({ ":method": "OPTIONS", ":path": "*" })).target).toBe("*");
  });

  it("Cookies that a client sends as several fields are joined", async () => {
    const { ask } = await start((request) => Response.json([request.cookies.get("a"), request.cookies.get("b")]));
    const response = await ask({ cookie: ["a=1", "b=2"] });
    expect(JSON.parse(response.body)).toEqual(["1", "2"]);
  });

  it("The host of a request is :authority, and Host stands for it if there is none", async () => {
    const { address } = await startTransport(createHttp2Transport, (request) => new Response(request.url));
    const session = await open(`http://127.0.0.1:${address.port}`);
    expect((await send(session, { ":authority": "one.example:81" })).body).toBe("http://one.example:81/");
    expect(await raw([...line(), ["host", "two.example"]])).toBe(200);
    expect(await raw([...line(), [":authority", "A.example:80"], ["host", "a.example"]])).toBe(200);
  });

  it.each([
    ["no host", line()],
    ["a host that differs from :authority", [...line(), [":authority", "a"], ["host", "b"]]],
    ["a host with a path", [...line(), [":authority", "a/b"]]],
    ["a user in :authority", [...line(), [":authority", "u@a"]]],
    ["another scheme", [...line("/", "ftp"), [":authority", "a"]]],
    ["a target without a slash", [...line("x"), [":authority", "a"]]],
    ["a target with a fragment", [...line("/#x"), [":authority", "a"]]],
    ["a target with a space", [...line("/ x"), [":authority", "a"]]],
    ["an absolute target", [...line("http://a/"), [":authority", "a"]]],
  ] as [string, [string, string][]][])("A request of HTTP/2 with %s is refused", async (_what, list) => {
    expect([400, 1]).toContain(await raw(list));
  });

  it.each([
    ["connection", "close"],
    ["keep-alive", "timeout=5"],
    ["proxy-connection", "close"],
    ["transfer-encoding", "chunked"],
    ["upgrade", "websocket"],
    ["te", "gzip"],
    ["X-Upper", "y"],
    [":status", "200"],
  ])("A request of HTTP/2 with the field %s: %s is reset", async (name, value) => {
    expect(await raw([...line(), [":authority", "a"], [name, value]])).toBe(1);
  });

  it.each([
    ["a pseudo-header field behind others", [...line(), ["x", "y"], [":authority", "a"]]],
    ["a pseudo-header field twice", [...line(), ...line(), [":authority", "a"]]],
    ["a pseudo-header field that nobody knows", [...line(), [":authority", "a"], [":other", "x"]]],
    ["a pseudo-header field of responses", [[":status", "200"], ...line(), [":authority", "a"]]],
    ["an empty :path", [...line(""), [":authority", "a"]]],
    ["a control character in :path", [...line("/\0"), [":authority", "a"]]],
    ...[":method", ":scheme", ":path"].map((name) => [
      `no ${name}`,
      [...line().filter(([other]) => other !== name), [":authority", "a"]],
    ]),
    ["a length and no body", [...line(), [":authority", "a"], ["content-length", "5"]]],
  ] as [string, [string, string][]][])("A request of HTTP/2 with %s is reset", async (_what, list) => {
    expect(await raw(list)).toBe(1);
  });

  it.each([
    ["a body that is shorter than its length", "6", [DATA, END_STREAM, "hello"]],
    ["a body that is longer than its length", "4", [DATA, END_STREAM, "hello"]],
    ["a pseudo-header field in its trailers", "0", [HEADERS, END_STREAM | END_HEADERS, fields([[":path", "/"]])]],
    ["a field of a connection in its trailers", "0", [HEADERS, END_STREAM | END_HEADERS, fields([["te", "gzip"]])]],
  ] as const)("A request of HTTP/2 with %s is reset", async (_what, length, [type, flags, rest]) => {
    const client = await FrameClient.open(server().address);
    const list: [string, string][] = [...line(), [":authority", "a"], ["content-length", length]];
    client.send(frame(HEADERS, END_HEADERS, 1, fields(list)), frame(type, flags, 1, Buffer.from(rest)));
    expect(await client.ended(1)).toBe(1);
    client.socket.destroy();
  });

  it.each([
    ["x", "a\nb"],
    ["x", "a\rb"],
    ["x", "a\0b"],
    ...(seesOuterSpace ? [] : outerSpace),
    ["cookie", "a=b\0"],
    ["", "a"],
    ["x y", "a"],
    ["x\r", "a"],
    ["x:y", "a"],
  ])("The field %j: %j, which RFC 9113 forbids, does not reach the application", async (name, value) => {
    const client = await FrameClient.open(server().address);
    const list: [string, string][] = [...line(), [":authority", "a"], [name, value], ["y", "z"]];
    client.send(frame(HEADERS, END_STREAM | END_HEADERS, 1, fields(list)));
    await client.ended(1);
    const body = client.frames.find(({ id, type }) => id === 1 && type === DATA)!.payload.toString();
    // Node drops the field and tells nobody: see docs/conformance.md.
    expect(JSON.parse(body).headers).toEqual(["host", "a", "y", "z"]);
    client.socket.destroy();
  });

  it.runIf(seesOuterSpace).each(outerSpace)(
    "A request of HTTP/2 with the field %j: %j is reset",
    async (name, value) => {
      expect(await raw([...line(), [":authority", "a"], [name, value]])).toBe(1);
    },
  );

  it("A body of HTTP/2 is read with and without a length", async () => {
    expect((await seen({ ":method": "POST" }, "hello")).body).toBe("hello");
    expect((await seen({ ":method": "POST", "content-length": "5" }, "hello")).body).toBe("hello");
    expect((await seen({ ":method": "POST" }, "")).body).toBe("");
    const large = "0123456789".repeat(200_000);
    expect((await seen({ ":method": "POST" }, large)).body === large).toBe(true);
  });

  it.each([
    ["GET", []],
    ["HEAD", []],
    ["GET", [["content-length", "0"]]],
    ["POST", [["content-length", "0"]]],
  ] as [string, [string, string][]][])(
    "A %s request with the fields %j that ends in an empty DATA frame has no body",
    async (method, more) => {
      const bodies: unknown[] = [];
      const { address } = await start(({ source }) => {
        bodies.push(source.body);
        return new Response("done");
      });
      const client = await FrameClient.open(address);
      for (const id of [1, 3]) {
        client.send(frame(HEADERS, END_HEADERS, id, request("/", method, more)), frame(DATA, END_STREAM, id));
        expect(await client.ended(id)).toBe(0);
      }
      expect(bodies).toEqual([null, null]);
      client.socket.destroy();
    },
  );

  it("A GET request of HTTP/2 can have a body", async () => {
    expect((await seen({ ":method": "GET" }, "hello")).body).toBe("hello");
    expect((await seen({ ":method": "GET", "content-length": "5" }, "hello")).body).toBe("hello");
  });

  it("Requests that are cancelled before their first DATA frame run no handler and leave their place to others", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const paths: string[] = [];
    const dispatch = ({ path }: Request) => {
      paths.push(path);
      return new Response("done");
    };
    const { address } = await start(dispatch, { http2: { ...defaultHttp2, maxConcurrentStreams: 2 } });
    const client = await FrameClient.open(address);
    for (const id of [1, 3, 5, 7]) {
      client.send(frame(HEADERS, END_HEADERS, id, request("/cancelled")), frame(PING, 0, 0, Buffer.alloc(8, id)));
      await client.until(({ type, payload }) => type === PING && payload[0] === id);
      client.send(frame(RST_STREAM, 0, id, uint32(CANCEL)));
    }
    client.send(get(9, "/after"));
    expect(await client.ended(9)).toBe(0);
    vi.runOnlyPendingTimers();
    await new Promise(setImmediate);
    expect(paths).toEqual(["/after"]);
    client.socket.destroy();
  });

  it("Trailers of a request are dropped", async () => {
    const session = await open(`http://127.0.0.1:${server().address.port}`);
    const stream = session.request({ ":method": "POST", ":authority": "a" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-sum": "1", host: "b" }));
    stream.end("hello");
    expect(JSON.parse((await reply(stream)).body)).toMatchObject({ body: "hello", headers: ["host", "a"] });
  });

  it("A client that waits for 100 Continue gets it when the body is read", async () => {
    const session = await open(`http://127.0.0.1:${server().address.port}`);
    const stream = session.request({ ":method": "POST", ":authority": "a", expect: "100-continue" });
    stream.on("continue", () => stream.end("hello"));
    expect(JSON.parse((await reply(stream)).body).body).toBe("hello");
  });

  it("A request with another expectation gets 417, and CONNECT gets 501", async () => {
    expect((await ask({ expect: "magic" })).status).toBe(417);
    const session = await open(`http://127.0.0.1:${server().address.port}`);
    const stream = session.request({ ":method": "CONNECT", ":authority": "a:80" });
    expect((await reply(stream)).status).toBe(501);
    expect(server().refusals.slice(-2)).toEqual(["EXPECTATION_FAILED", "NOT_IMPLEMENTED"]);
  });

  it("A target over maxTargetSize gets 414", async () => {
    const { ask } = await start(echo, { maxTargetSize: 100 });
    expect((await ask({ ":path": `/${"x".repeat(100)}` })).status).toBe(414);
  });

  it("Many requests of one connection are handled at once", async () => {
    const waiting: (() => void)[] = [];
    const { dial } = await start(
      ({ path }) =>
        new Promise((resolve) => {
          waiting.push(() => resolve(new Response(path)));
          if (waiting.length === 100) for (const respond of waiting.toReversed()) respond();
        }),
    );
    const session = await dial();
    const replies = await Promise.all(Array.from({ length: 100 }, (_, i) => send(session, { ":path": `/${i}` })));
    expect(replies.map(({ body }) => body)).toEqual(Array.from({ length: 100 }, (_, i) => `/${i}`));
  });

  it("Many requests with a body, whether it is read or not, are no abuse", async () => {
    const notes: string[] = [];
    const { dial, abuses } = await start(
      async (given) => {
        given.signal.addEventListener("abort", () => notes.push("aborted"));
        if (given.path === "/read") await given.source.body!.read(10_000);
        return new Response("done");
      },
      { http2: { ...defaultHttp2, maxResets: 10 } },
    );
    const session = await dial();
    for (const path of ["/read", "/ignored"]) {
      for (let i = 0; i < 10; i++) {
        const ask = () => send(session, { ":method": "POST", ":path": path }, "x".repeat(5000));
        const replies = await Promise.all(Array.from({ length: 20 }, ask));
        expect(new Set(replies.map(({ status, body, code }) => `${status} ${body} ${code}`))).toEqual(
          new Set(["200 done 0"]),
        );
      }
    }
    expect({ abuses, notes }).toEqual({ abuses: [], notes: [] });
  });

  it.each([
    ["ends its side", (client: FrameClient) => client.socket.end()],
    ["resets it", (client: FrameClient) => client.socket.resetAndDestroy()],
  ])("A request is aborted when its client leaves the connection: the client %s", async (_how, leave) => {
    const notes: string[] = [];
    const { address, transport } = await start(
      (given) =>
        new Promise(() => {
          notes.push("began");
          given.signal.addEventListener("abort", () => notes.push("aborted"));
        }),
    );
    const client = await FrameClient.open(address);
    client.send(get(1));
    await expect.poll(() => notes).toEqual(["began"]);
    leave(client);
    await expect.poll(() => notes).toEqual(["began", "aborted"]);
    await expect.poll(() => transport.connections).toBe(0);
  });

  it("A stream that waits for room in the window of its client ends when the client ends its side", async () => {
    const notes: string[] = [];
    const { address, transport } = await start((given) => {
      given.signal.addEventListener("abort", () => notes.push("aborted"));
      return new Response(
        endless(() => notes.push("stopped")),
        200,
        "text/event-stream",
      );
    });
    const client = await FrameClient.open(address);
    client.send(get(1));
    // The whole window of the stream, as RFC 9113 section 6.9.2 sets it.
    const sent = (): number =>
      client.frames.reduce((sum, { id, payload, type }) => (id === 1 && type === DATA ? sum + payload.length : sum), 0);
    await expect.poll(sent).toBe(65_535);
    client.socket.end();
    await expect.poll(() => notes.toSorted()).toEqual(["aborted", "stopped"]);
    await expect.poll(() => transport.connections).toBe(0);
  });

  it("A request is aborted when its client cancels the stream", async () => {
    const notes: string[] = [];
    const { dial } = await start(
      (request) =>
        new Promise((resolve) => {
          notes.push("began");
          request.signal.addEventListener("abort", () => {
            notes.push(String(request.signal.reason.message));
            resolve(new Response("late"));
          });
        }),
    );
    const session = await dial();
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => {});
    await expect.poll(() => notes).toEqual(["began"]);
    stream.close(8);
    await expect.poll(() => notes).toEqual(["began", "the client has left"]);
  });
});

async function* endless(stopped: () => void): AsyncGenerator<string> {
  try {
    for (;;) yield "data: more\n\n".repeat(1000);
  } finally {
    stopped();
  }
}
