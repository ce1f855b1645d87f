import { describe, expect, it } from "vitest";
import { Response } from "../../src/http/response.js";
import { createNetTransport } from "../../src/server/http1/transport.js";
import { untilStill } from "../support/until-still.js";
import { get, parseResponses, settle, start, transports } from "./support.js";

async function* pieces(...list: (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
  for (const piece of list) yield piece;
}

const utf8 = (text: string) => Buffer.from(text, "latin1").toString("utf8");

describe.each(transports)("a response of the %s transport", (_name, factory) => {
  const responseTo = async (respond: () => Response, request = get("/")) => {
    const { client } = await start(factory, respond);
    const [response] = await (await client(request)).responses(1, [request.split(" ")[0]!]);
    return response!;
  };

  it("A text response has its type, length and date", async () => {
    const response = await responseTo(() => new Response("hello"));
    expect(response).toMatchObject({ status: 200, body: "hello" });
    expect(response.headers).toMatchObject({ "content-type": "text/plain; charset=utf-8", "content-length": "5" });
    expect(new Date(response.headers.date!).toUTCString()).toBe(response.headers.date);
    expect(response.headers.server).toBeUndefined();
  });

  it.each([
    ["short", "naïve ☂ 🎈"],
    ["of a middle size", "naïve ☂ 🎈".repeat(3000)],
    ["large", `x${"naïve ☂ 🎈".repeat(60_000)}`],
  ])("A text response beyond ASCII is sent correctly: %s", async (_size, text) => {
    const response = await responseTo(() => new Response(text));
    expect(response.headers["content-length"]).toBe(String(Buffer.byteLength(text)));
    expect(utf8(response.body) === text).toBe(true);
  });

  it.each([0, 1, 1000, 16_384, 16_385, 200_000, 3_000_000])(
    "A response of %i bytes is sent as text and as bytes",
    async (size) => {
      const bytes = Buffer.alloc(size, "0123456789abcdef\xff", "latin1");
      expect((await responseTo(() => new Response(bytes))).body === bytes.toString("latin1")).toBe(true);
      const text = "x".repeat(size);
      expect((await responseTo(() => new Response(text))).body === text).toBe(true);
    },
  );

  it.each([16, 128, 129, 16_383, 16_384, 16_385])(
    "The length of a response of %i characters of any kind is correct",
    async (length) => {
      for (const character of ["x", "é", "€", "\ud800", "🎈"]) {
        const text = character.repeat(length / character.length);
        const response = await responseTo(() => new Response(text));
        const bytes = Buffer.from(text, "utf8");
        expect(response.headers["content-length"]).toBe(String(bytes.length));
        expect(response.body === bytes.toString("latin1")).toBe(true);
      }
    },
  );

  it("A response contains its fields, also repeated ones and those beyond ASCII", async () => {
    const response = await responseTo(() => {
      const response = new Response("ö", { status: 201, headers: { "X-Name": "J\xf6rg" } });
      return response.cookie("a", "1").cookie("b", "2");
    });
    expect(response.status).toBe(201);
    expect(response.headers["x-name"]).toBe("J\xf6rg");
    expect(response.headers["set-cookie"]).toMatch(/^a=1.*, b=2/);
    expect(utf8(response.body)).toBe("ö");
  });

  it("Each response of a connection has its own fields, whichever the responses before had", async () => {
    const date = "Sun, 06 Nov 1994 08:49:37 GMT";
    const [one, two, dated, closing] = [
      { "X-Same": "1", "X-Other": "a" },
      { "X-Same": "1", "X-Other": "b", "X-More": "c" },
      { Date: date, "X-Other": "a" },
      { "X-Same": "1", Connection: "close" },
    ];
    const given = [one, one, one, two, two, one, dated, dated, two, closing];
    let next = 0;
    const { client } = await start(factory, () => new Response("", { headers: given[next++]! }));
    const received = await (await client(get("/").repeat(given.length))).responses(given.length);
    const lower = (fields: object) =>
      Object.fromEntries(Object.entries(fields).map(([name, value]) => [name.toLowerCase(), value]));
    received.forEach(({ headers }, i) => {
      const { "content-type": _type, "content-length": _length, "keep-alive": _keep, connection, ...others } = headers;
      const { date: sent, ...fields } = lower(given[i]!) as Record<string, string>;
      delete fields.connection;
      expect({ ...others, date: sent }).toEqual({ ...fields, date: sent });
      expect(others.date === date).toBe(sent !== undefined);
      expect(connection === "close").toBe(given[i] === closing);
    });
  });

  it("The transport's own fields are never sent twice", async () => {
    const response = await responseTo(
      () =>
        new Response("hello", {
          headers: { "content-length": "99", "Transfer-Encoding": "chunked", Date: "then", connection: "keep-alive" },
        }),
    );
    expect(response.headers["content-length"]).toBe("5");
    expect(response.headers["transfer-encoding"]).toBeUndefined();
    expect(response.headers.date).toBe("then");
    expect(response.body).toBe("hello");
  });

  it("A response with Connection: close closes the connection", async () => {
    const { exchange } = await start(factory, () => new Response("x", { headers: { Connection: "Close" } }));
    const text = await exchange(get("/") + get("/"));
    expect(parseResponses(text)).toHaveLength(1);
    expect(parseResponses(text)[0]!.headers.connection).toBe("close");
  });

  it.each([204, 304])("A response with status %i has no body", async (status) => {
    const { client } = await start(factory, (request) => {
      if (request.path === "/next") return new Response("next");
      const response = new Response("leftover");
      response.status = status;
      return response;
    });
    const responses = await (await client(get("/") + get("/next"))).responses(2);
    expect(responses.map((response) => response.body)).toEqual(["", "next"]);
    expect(responses[0]!.headers["content-length"]).toBeUndefined();
  });

  it("A response without a body has length 0", async () => {
    expect((await responseTo(() => new Response(null))).headers["content-length"]).toBe("0");
  });

  it("A response to HEAD has the head of the response to GET", async () => {
    const response = await responseTo(() => new Response("hello ☂"), "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(response.headers).toMatchObject({ "content-length": "9", "content-type": "text/plain; charset=utf-8" });
  });

  it("A response to HEAD keeps the length that the application gives", async () => {
    const respond = () => new Response(null, { headers: { "Content-Length": "1234" } });
    const response = await responseTo(respond, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    expect(response.headers["content-length"]).toBe("1234");
  });

  it.each([
    ["a line end", "a\r\nSet-Cookie: evil=1"],
    ["signs that become a line end when cut to a byte", "a\u560d\u560aSet-Cookie: evil=1"],
    ["a NUL", "a\0b"],
    ["a sign beyond latin1", "☂"],
  ])("A response with %s in a field is not sent, and the connection survives", async (_what, value) => {
    const { client, errors } = await start(factory, (request) => {
      const response = new Response("x");
      if (request.path === "/bad") response.addField("X-Value", value);
      return response;
    });
    const responses = await (await client(get("/bad") + get("/good"))).responses(2);
    expect(responses.map((response) => response.status)).toEqual([500, 200]);
    expect(responses[0]!.head).not.toContain("evil");
    expect(errors).toHaveLength(1);
  });

  it("An application that throws gives a 500 response", async () => {
    const { client, errors } = await start(factory, (request) => {
      if (request.path === "/sync") throw new Error("sync");
      return Promise.reject(new Error("async"));
    });
    const responses = await (await client(get("/sync") + get("/async"))).responses(2);
    expect(responses.map((response) => response.status)).toEqual([500, 500]);
    expect(JSON.parse(responses[0]!.body)).toEqual({ error: "Internal Server Error", status: 500 });
    expect(errors).toEqual([new Error("sync"), new Error("async")]);
  });
});

describe("a streamed response", () => {
  it("A streamed response that fails before its first piece becomes 500", async () => {
    const { client, errors } = await start(createNetTransport, ({ path }) => {
      if (path === "/next") return new Response("next");
      return new Response(
        // biome-ignore lint/correctness/useYield: fails before its first piece
        (async function* () {
          throw new Error("broken");
        })(),
      );
    });
    const responses = await (await client(get("/") + get("/next"))).responses(2);
    expect(responses.map(({ status, body }) => [status, body])).toEqual([
      [500, '{"error":"Internal Server Error","status":500}'],
      [200, "next"],
    ]);
    expect(errors).toEqual([new Error("broken")]);
  });

  it("A streamed response whose first piece is longer than its Content-Length becomes 500", async () => {
    const { client } = await start(createNetTransport, () => {
      const pieces = (async function* () {
        yield "too long";
      })();
      return new Response(pieces, { headers: { "content-length": "3" } });
    });
    const [response] = await (await client(get("/"))).responses(1);
    expect(response).toMatchObject({ status: 500, body: '{"error":"Internal Server Error","status":500}' });
  });
});

describe.each(transports)("a streamed response of the %s transport", (_name, factory) => {
  it("A streamed response whose stream is in use becomes 500, and the connection continues", async () => {
    const used = new Blob(["web"]).stream();
    used.getReader();
    const { client, errors } = await start(factory, ({ path }) =>
      path === "/next" ? new Response("next") : Response.stream(used),
    );
    const responses = await (await client(get("/") + get("/next"))).responses(2);
    expect(responses.map(({ status, body }) => [status, body])).toEqual([
      [500, '{"error":"Internal Server Error","status":500}'],
      [200, "next"],
    ]);
    expect(errors).toHaveLength(1);
  });

  it("A streamed response is chunked", async () => {
    const large = "x".repeat(200_000);
    const { client } = await start(factory, () => new Response(pieces("é", "", Buffer.from("b"), large)));
    const responses = await (await client(get("/") + get("/"))).responses(2);
    expect(responses[1]!.headers["transfer-encoding"]).toBe("chunked");
    expect(responses[1]!.headers["content-length"]).toBeUndefined();
    expect(utf8(responses[1]!.body) === `éb${large}`).toBe(true);
  });

  it("A streamed response can be empty", async () => {
    const { client } = await start(factory, () => new Response(pieces()));
    expect((await (await client(get("/") + get("/"))).responses(2)).map((response) => response.body)).toEqual(["", ""]);
  });

  it("A streamed response can be a web stream", async () => {
    const { client } = await start(factory, () => Response.stream(new Blob(["web"]).stream()));
    expect((await (await client(get("/"))).responses(1))[0]!.body).toBe("web");
  });

  it("A streamed response ends with the connection on HTTP/1.0", async () => {
    const { exchange } = await start(factory, () => new Response(pieces("a", "b")));
    const [response] = parseResponses(await exchange("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    expect(response).toMatchObject({ body: "ab", headers: { connection: "close" } });
    expect(response!.headers["transfer-encoding"]).toBeUndefined();
  });

  it("A streamed response has the length that the application promised", async () => {
    const respond = () => new Response(pieces("ab", "cd"), { headers: { "Content-Length": "4" } });
    const { client } = await start(factory, respond);
    const responses = await (await client(get("/") + get("/"))).responses(2);
    expect(responses[1]).toMatchObject({ body: "abcd", headers: { "content-length": "4" } });
    expect(responses[1]!.headers["transfer-encoding"]).toBeUndefined();
  });

  it.each([
    ["shorter", "5"],
    ["longer", "3"],
  ])("A streamed response that is %s than promised breaks the connection", async (_what, length) => {
    const { exchange, errors } = await start(factory, (request) => {
      if (request.path === "/hidden") return new Response("hidden");
      const body = (async function* () {
        yield "ab";
        await settle(10);
        yield "cd";
      })();
      return new Response(body, { headers: { "Content-Length": length } });
    });
    const text = await exchange(get("/") + get("/hidden"));
    expect(text).not.toContain("hidden");
    expect(errors).toHaveLength(1);
  });

  it.each(["end", "destroy"] as const)(
    "A streamed response that stops because its client has disconnected (%s) is not an error",
    async (way) => {
      let isStopped = false;
      const { client, errors, transport } = await start(factory, (request) =>
        Response.stream(
          (async function* () {
            yield "begun";
            try {
              await new Promise((_, reject) => request.onAbort(reject));
            } finally {
              isStopped = true;
            }
          })(),
        ),
      );
      const connection = await client(get("/"));
      await connection.until((text) => text.includes("begun"));
      connection.socket[way]();
      await expect.poll(() => isStopped).toBe(true);
      await expect.poll(() => transport.connections).toBe(0);
      expect(errors).toEqual([]);
    },
  );

  it("A streamed response that fails breaks the connection, and is reported", async () => {
    const { exchange, errors } = await start(factory, () => {
      return new Response(
        (async function* () {
          yield "begun";
          await settle(10);
          throw new Error("broken");
        })(),
      );
    });
    const text = await exchange(get("/"));
    expect(text).toContain("begun");
    expect(text).not.toContain("0\r\n\r\n");
    expect(errors).toEqual([new Error("broken")]);
  });

  it("A streamed response sends its head at once, and each piece when it is available", async () => {
    let next = () => {};
    const { client } = await start(factory, () => {
      return new Response(
        (async function* () {
          await new Promise<void>((resolve) => {
            next = resolve;
          });
          yield "piece";
        })(),
      );
    });
    const connection = await client(get("/"));
    expect(await connection.until((text) => text.includes("\r\n\r\n"))).not.toContain("piece");
    next();
    expect((await connection.responses(1))[0]!.body).toBe("piece");
  });

  it("A streamed body is not read for HEAD", async () => {
    let ended = false;
    const body = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false as const, value: "x" }),
        return: async () => {
          ended = true;
          return { done: true as const, value: undefined };
        },
      }),
    };
    const { client } = await start(factory, () => new Response(body));
    const responses = await (await client("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")).responses(1, ["HEAD"]);
    expect(responses[0]!.body).toBe("");
    await expect.poll(() => ended).toBe(true);
  });

  it("A streamed response is read no faster than the client takes it, and ends when the client disconnects", async () => {
    let made = 0;
    let ended = false;
    const { client } = await start(factory, () => {
      return new Response(
        (async function* () {
          try {
            for (;;) {
              made += 65_536;
              yield Buffer.alloc(65_536);
            }
          } finally {
            ended = true;
          }
        })(),
      );
    });
    const connection = await client();
    connection.socket.pause();
    connection.send(get("/"));
    await expect.poll(() => made).toBeGreaterThan(0);
    expect(await untilStill(() => made)).toBeLessThan(20_000_000);
    connection.socket.destroy();
    await expect.poll(() => ended).toBe(true);
  });

  it("The request of a streamed response is aborted when the client disconnects", async () => {
    let arrived = false;
    let aborted = false;
    const { client } = await start(factory, (request) => {
      arrived = true;
      request.signal.addEventListener("abort", () => {
        aborted = true;
      });
      return new Promise<Response>(() => {});
    });
    const connection = await client(get("/"));
    await expect.poll(() => arrived).toBe(true);
    connection.socket.destroy();
    await expect.poll(() => aborted).toBe(true);
  });
});
