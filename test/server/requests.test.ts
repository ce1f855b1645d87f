import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { Request } from "../../src/http/request.js";
import { Response } from "../../src/http/response.js";
import { echo, get, openClient, parseResponses, start, startForAll, transports } from "./support.js";

describe.each(transports)("a request on the %s transport", (_name, factory) => {
  const server = startForAll(factory, echo);
  const seen = async (bytes: string) => {
    const [response] = await (await server().client(bytes)).responses(1);
    expect(response!.status).toBe(200);
    return JSON.parse(Buffer.from(response!.body, "latin1").toString()) as {
      method: string;
      target: string;
      headers: string[];
      body: string | null;
    };
  };

  it("A request has the method, target and fields that were sent", async () => {
    const request = await seen(
      "DELETE /a%20b?c=d&e HTTP/1.1\r\nHost: a:8080\r\nX-One:  two \t\r\nx-one:\r\nB: \xe9\r\n\r\n",
    );
    expect(request).toEqual({
      method: "DELETE",
      target: "/a%20b?c=d&e",
      headers: ["Host", "a:8080", "X-One", "two", "x-one", "", "B", "\xe9"],
      body: null,
    });
  });

  it.each(["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "M-SEARCH"])(
    "A request can have the method %s",
    async (method) => {
      expect((await seen(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`)).method).toBe(method);
    },
  );

  it.each(["a", "a.b-c_d~e", "127.0.0.1:1", "[::1]", "[::1]:8000", "A%20", "a:"])(
    "A request can be for the host %s",
    async (host) => {
      expect((await seen(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)).target).toBe("/");
    },
  );

  it("A request can follow one empty line", async () => {
    expect((await seen(`\r\n${get("/x")}`)).target).toBe("/x");
  });

  it.each([
    ["http://a/x?y", "/x?y"],
    ["HTTP://A/", "/"],
    ["https://a", "/"],
    ["http://a?q", "/?q"],
  ])("A request can have the absolute target %s", async (target, path) => {
    expect((await seen(`GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`)).target).toBe(path);
  });

  it("An OPTIONS request can be for the whole server", async () => {
    expect((await seen("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")).target).toBe("*");
  });

  it("A request can be HTTP/1.0 without Host", async () => {
    const text = await server().exchange("GET /x HTTP/1.0\r\n\r\n");
    expect(parseResponses(text)[0]).toMatchObject({ status: 200, headers: { connection: "close" } });
  });

  it("An HTTP/1.0 connection is kept open on request, with the header for it", async () => {
    const old = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    const client = await server().client(old);
    const [first] = await client.responses(1);
    expect(first!.headers.connection).toBe("keep-alive");
    client.send(old);
    expect(await client.responses(2)).toHaveLength(2);
  });

  it("A request can arrive byte by byte", async () => {
    const client = await server().client();
    for (const byte of "POST /x HTTP/1.1\r\nHost: a\r\nA: b\r\nContent-Length: 2\r\n\r\nhi") {
      client.send(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    const [response] = await client.responses(1);
    expect(JSON.parse(response!.body)).toMatchObject({ target: "/x", body: "hi" });
  });

  it("A request can arrive in any two parts", async () => {
    const bytes = "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhi\r\n0\r\nT: u\r\n\r\n";
    const client = await server().client();
    for (let at = 1; at < bytes.length; at++) {
      client.send(bytes.slice(0, at));
      await new Promise((resolve) => setImmediate(resolve));
      client.send(bytes.slice(at));
      const response = (await client.responses(at))[at - 1];
      expect(JSON.parse(response!.body), `split at ${at}`).toMatchObject({ target: "/x", body: "hi" });
    }
  });

  it("A head and a target of exactly the limits are accepted", async () => {
    const target = `/${"a".repeat(16 * 1024 - 1)}`;
    expect((await seen(get(target))).target).toBe(target);
    expect((await seen(get("/", "A: b\r\n".repeat(199)))).headers).toHaveLength(400);
  });
});

describe.each(transports)("the fields of a request on the %s transport", (_name, factory) => {
  it("Fields of a request are found by name, and repeated ones are joined", async () => {
    const { client } = await start(factory, (request) =>
      Response.json({
        a: request.headers.get("X-A"),
        cookie: request.headers.get("cookie"),
        none: request.headers.get("x") ?? null,
        all: request.headers.getAll("x-a"),
        empty: request.headers.get("empty"),
        ip: request.ip,
        secure: request.source.secure,
      }),
    );
    const fields = "X-A: 1\r\nCookie: a=1\r\nx-a: 2\r\nEmpty:\r\nCOOKIE: b=2\r\nX-AB: 3\r\n";
    const [response] = await (await client(get("/", fields))).responses(1);
    expect(JSON.parse(response!.body)).toEqual({
      a: "1, 2",
      cookie: "a=1; b=2",
      none: null,
      all: ["1", "2"],
      empty: "",
      ip: "127.0.0.1",
      secure: false,
    });
  });
});

describe.each(transports)("several requests on one connection of the %s transport", (name, factory) => {
  it("Pipelined requests get their responses in order, whichever is ready first", async () => {
    const { client } = await start(factory, async (request) => {
      const number = Number(request.path.slice(1));
      if (number % 3 === 0) await new Promise((resolve) => setTimeout(resolve, 20 - number));
      return new Response(request.path);
    });
    const paths = Array.from({ length: 10 }, (_, number) => `/${number}`);
    const responses = await (await client(paths.map((path) => get(path)).join(""))).responses(10);
    expect(responses.map((response) => response.body)).toEqual(paths);
  });

  it("Pipelined requests get their responses if the handlers respond at once", async () => {
    const { client } = await start(factory, (request) => new Response(request.path));
    const paths = Array.from({ length: 500 }, (_, number) => `/${number}`);
    const responses = await (await client(paths.map((path) => get(path)).join(""))).responses(500);
    expect(responses.map((response) => response.body)).toEqual(paths);
  });

  it.each([1, 5, 20, 38])("Pipelined requests get their responses if the last %i bytes come later", async (left) => {
    const { client } = await start(factory, (request) => new Response(request.path));
    const paths = Array.from({ length: 64 }, (_, number) => `/${number}`);
    const bytes = paths.map((path) => get(path)).join("");
    const connection = await client(bytes.slice(0, -left));
    await connection.responses(left === 38 ? 62 : 63);
    connection.send(bytes.slice(-left));
    expect((await connection.responses(64)).map((response) => response.body)).toEqual(paths);
  });

  it("A request behind one that closes the connection gets no response", async () => {
    const { exchange } = await start(factory, echo);
    const text = await exchange(get("/a", "Connection: close\r\n") + get("/hidden"));
    expect(parseResponses(text).map((response) => response.status)).toEqual([200]);
    expect(text).not.toContain("hidden");
  });

  it("A body that looks like a request is not handled as one", async () => {
    const { client } = await start(factory, echo);
    const inner = get("/hidden");
    const bytes = get("/a", `Content-Length: ${inner.length}\r\n`) + inner + get("/b");
    const responses = await (await client(bytes)).responses(2);
    expect(responses.map((response) => JSON.parse(response.body).target)).toEqual(["/a", "/b"]);
  });

  it("A body that the application did not read is not handled as a request", async () => {
    const { client } = await start(factory, (request) => new Response(request.path));
    const inner = get("/hidden");
    const connection = await client(`${get("/a", `Content-Length: ${inner.length}\r\n`)}${inner.slice(0, 5)}`);
    await connection.responses(1);
    connection.send(inner.slice(5) + get("/b"));
    expect((await connection.responses(2)).map((response) => response.body)).toEqual(["/a", "/b"]);
  });

  it("Responses to requests behind HEAD stay aligned", async () => {
    const { client } = await start(factory, (request) => new Response(`body of ${request.path}`));
    const responses = await (
      await client(`HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n${get("/b")}HEAD /c HTTP/1.1\r\nHost: a\r\n\r\n${get("/d")}`)
    ).responses(4, ["HEAD", "GET", "HEAD", "GET"]);
    expect(responses.map((response) => response.body)).toEqual(["", "body of /b", "", "body of /d"]);
    expect(responses[0]!.headers["content-length"]).toBe("10");
  });

  // node:http runs pipelined requests side by side and reads on for as long as their responses are not written.
  if (name === "net")
    it("Pipelined requests are read no further than a bound while one waits for its response", async () => {
      let respond: (response: Response) => void = () => {};
      let count = 0;
      const { transport } = await start(factory, (request) => {
        if (count++ > 0) return new Response(request.path);
        return new Promise<Response>((resolve) => {
          respond = resolve;
        });
      });
      let accepted: Socket | undefined;
      const server = createServer({ allowHalfOpen: true }, (socket) => {
        accepted = socket;
        transport.accept(socket);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      const connection = await openClient({ host: "127.0.0.1", port }, get("/"));
      const flood = get("/", `A: ${"a".repeat(10_000)}\r\n`).repeat(100);
      for (let i = 0; i < 10; i++) connection.send(flood);
      await expect.poll(() => accepted?.isPaused(), { timeout: 20_000 }).toBe(true);
      expect(accepted!.bytesRead).toBeLessThan(1_000_000);
      expect(count).toBe(1);
      respond(new Response("done"));
      expect(await connection.responses(1001)).toHaveLength(1001);
      server.close();
    });

  it("Pipelined requests get their responses if the client ends its side behind them", async () => {
    const { client } = await start(factory, (request) => new Response(request.path));
    const connection = await client(get("/a") + get("/b"));
    connection.socket.end();
    expect(parseResponses(await connection.readToEnd()).map((response) => response.body)).toEqual(["/a", "/b"]);
  });
});

describe.each(transports)("the version of HTTP on the %s transport", (_name, factory) => {
  it.each(["1.0", "1.1"])("A request of HTTP/%s knows its version", async (version) => {
    const { client } = await start(factory, ({ source }) => new Response(source.httpVersion ?? "none"));
    const [response] = await (await client(`GET / HTTP/${version}\r\nHost: a\r\n\r\n`)).responses(1);
    expect(response!.body).toBe(version);
  });

  it("A request for another protocol knows its version", async () => {
    const { client } = await start(factory, ({ source }) => new Response(source.httpVersion ?? "none"));
    const upgrade =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n";
    const [response] = await (await client(get("/", upgrade))).responses(1);
    expect(response!.body).toBe("1.1");
  });
});

describe("a request object", () => {
  it("A request object keeps its values after the next request was read", async () => {
    const requests: Request[] = [];
    const { client } = await start(transports[0]![1], (request) => {
      requests.push(request);
      return new Response("ok");
    });
    const connection = await client(get("/1", "A: first\r\n").slice(0, 20));
    await new Promise((resolve) => setTimeout(resolve, 20));
    connection.send(get("/1", "A: first\r\n").slice(20) + get("/2", "A: second\r\n"));
    await connection.responses(2);
    connection.send(get("/3", "A: third\r\n"));
    await connection.responses(3);
    expect(requests.map((request) => request.headers.get("a"))).toEqual(["first", "second", "third"]);
    expect(requests[0]).toBeInstanceOf(Request);
  });
});
