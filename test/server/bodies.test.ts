import { describe, expect, it } from "vitest";
import { HttpError } from "../../src/errors/http-error.js";
import { problemResponse } from "../../src/errors/pages/problem.js";
import type { Request } from "../../src/http/request.js";
import { Response } from "../../src/http/response.js";
import type { BodyBuffer } from "../../src/server/body/body-buffer.js";
import { untilStill } from "../support/until-still.js";
import { echo, get, parseResponses, settle, start, startForAll, transports } from "./support.js";

const post = (fields: string, body = "") => `POST / HTTP/1.1\r\nHost: a\r\n${fields}\r\n${body}`;
const chunked = (body: string) => post("Transfer-Encoding: chunked\r\n", body);

/** Reads with a limit; an error becomes the response, as in the pipeline. */
const reader = (limit: number, notes: string[] = []) => {
  return async (request: Request) => {
    try {
      return new Response(String((await request.source.body!.read(limit)).length));
    } catch (error) {
      notes.push(error instanceof HttpError ? error.code : String(error));
      return problemResponse(error as HttpError);
    }
  };
};

describe.each(transports)("a body on the %s transport", (_name, factory) => {
  const server = startForAll(factory, echo);
  const bodyOf = async (bytes: string) => {
    const [response] = await (await server().client(bytes)).responses(1);
    expect(response!.status).toBe(200);
    return JSON.parse(response!.body).body as string | null;
  };

  it("A body with a length is read", async () => {
    expect(await bodyOf(post("Content-Length: 5\r\n", "hello"))).toBe("hello");
  });

  it("A request with Content-Length: 0 has no body", async () => {
    expect(await bodyOf(post("Content-Length: 0\r\n"))).toBeNull();
  });

  it("A body in chunks is read", async () => {
    expect(await bodyOf(chunked("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n"))).toBe("hello world");
  });

  it("A body of no chunks is an empty body", async () => {
    expect(await bodyOf(chunked("0\r\n\r\n"))).toBe("");
  });

  it("Chunk extensions and trailers of a body are dropped", async () => {
    const body = '5;a=b;c="d \\" e"\r\nhello\r\n000A\r\n0123456789\r\n0;last\r\nX-Sum: 1\r\nHost: b\r\n\r\n';
    expect(await bodyOf(chunked(body))).toBe("hello0123456789");
  });

  it("A body can come in 20000 chunks of one byte", async () => {
    const text = "abcdefghij".repeat(2000);
    const body = [...text].map((char) => `1\r\n${char}\r\n`).join("");
    expect(await bodyOf(chunked(`${body}0\r\n\r\n`))).toBe(text);
  });

  it("A body of any bytes is read if its head came in two parts", async () => {
    const connection = await server().client("POST / HTTP/1.1\r\nHo");
    await settle(20);
    connection.send("st: a\r\nContent-Length: 4\r\n\r\n\0\x01\n\r");
    const [response] = await connection.responses(1);
    expect(response!.status).toBe(200);
    expect(JSON.parse(response!.body).body).toBe("\0\x01\n\r");
  });

  it("A large body is read whole", async () => {
    const text = "0123456789abcdef".repeat(64 * 1024);
    expect(await bodyOf(post(`Content-Length: ${text.length}\r\n`, text))).toBe(text);
    expect(await bodyOf(chunked(`${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`))).toBe(text);
  });
});

describe.each(transports)("the limit of a body on the %s transport", (_name, factory) => {
  it("Content-Length over the limit is refused before anything is read", async () => {
    const { client } = await start(factory, reader(10));
    const [response] = await (await client(post("Content-Length: 1000000000\r\n"))).responses(1);
    expect(response).toMatchObject({ status: 413, headers: { connection: "close" } });
  });

  it("Chunks over the limit of a body are refused as they arrive", async () => {
    const { client } = await start(factory, reader(10));
    const [response] = await (await client(chunked("5\r\nhello\r\n6\r\nworld!\r\n"))).responses(1);
    expect(response).toMatchObject({ status: 413, headers: { connection: "close" } });
  });

  it("A body of exactly the limit is accepted", async () => {
    const { client } = await start(factory, reader(10));
    expect((await (await client(chunked("a\r\n0123456789\r\n0\r\n\r\n"))).responses(1))[0]!.body).toBe("10");
    expect((await (await client(post("Content-Length: 10\r\n", "0123456789"))).responses(1))[0]!.body).toBe("10");
  });

  it("A client that is still sending a body over the limit gets the response", async () => {
    const { client } = await start(factory, reader(10));
    const connection = await client(post("Content-Length: 3000000\r\n"));
    for (let i = 0; i < 30; i++) connection.send("x".repeat(100_000));
    expect((await connection.responses(1))[0]).toMatchObject({ status: 413 });
  });
});

describe.each(transports)("the memory for bodies on the %s transport", (_name, factory) => {
  const head = post("Content-Length: 100\r\n");

  it("The memory for bodies is bounded over all connections: a body beyond it gets 503 before it is read", async () => {
    let first: Request | undefined;
    const dispatch = (request: Request) => {
      first ??= request;
      return reader(1000)(request);
    };
    const { client } = await start(factory, dispatch, { maxBodyMemory: 50 });
    const slow = await client(head + "x".repeat(60));
    await expect.poll(() => (first?.source.body as BodyBuffer | undefined)?.arrived).toBe(60);
    const [response] = await (await client(head)).responses(1);
    expect(response).toMatchObject({ status: 503, headers: { "retry-after": "1" } });
    slow.send("x".repeat(40));
    expect((await slow.responses(1))[0]).toMatchObject({ status: 503 });
    const next = await client(head + "x".repeat(100));
    expect((await next.responses(1))[0]).toMatchObject({ status: 200, body: "100" });
  });

  it("Bodies that are complete at once, streamed or only announced do not use the memory for bodies", async () => {
    const { client } = await start(
      factory,
      async (request) => {
        if (request.method === "POST") return reader(1000)(request);
        let size = 0;
        for await (const piece of request.source.body!.stream(1000)) size += piece.length;
        return new Response(String(size));
      },
      { maxBodyMemory: 50 },
    );
    await client(head);
    const streamed = await client(`PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n${"x".repeat(60)}`);
    const whole = await client(head + "x".repeat(100));
    expect((await whole.responses(1))[0]).toMatchObject({ status: 200 });
    streamed.send("x".repeat(40));
    expect((await streamed.responses(1))[0]).toMatchObject({ status: 200, body: "100" });
  });

  it("The memory for a body is free again when its client disconnects", async () => {
    const notes: string[] = [];
    const { client, transport } = await start(factory, reader(1000, notes), { maxBodyMemory: 50 });
    const leaving = await client(head + "x".repeat(60));
    await expect.poll(() => transport.connections).toBe(1);
    leaving.socket.destroy();
    await expect.poll(() => notes).toEqual(["INCOMPLETE_BODY"]);
    const next = await client(head + "x".repeat(100));
    expect((await next.responses(1))[0]).toMatchObject({ status: 200 });
  });
});

describe.each(transports)("Expect: 100-continue on the %s transport", (_name, factory) => {
  const head = post("Content-Length: 5\r\nExpect: 100-continue\r\n");

  it("A request with Expect: 100-continue gets 100 Continue when its body is read", async () => {
    const { client } = await start(factory, reader(10));
    const connection = await client(head);
    await connection.until((text) => text === "HTTP/1.1 100 Continue\r\n\r\n");
    connection.send("hello");
    expect((await connection.responses(1))[0]!.body).toBe("5");
  });

  it("A response that needs no body sends no 100 Continue, and the connection closes", async () => {
    const { exchange } = await start(factory, () => new Response("no", 403));
    const text = await exchange(head);
    expect(text).not.toContain("100 Continue");
    expect(parseResponses(text)[0]).toMatchObject({ status: 403, headers: { connection: "close" } });
  });

  it("A body that is too large gets 413 and no 100 Continue", async () => {
    const { exchange } = await start(factory, reader(4));
    const text = await exchange(head);
    expect(text).not.toContain("100 Continue");
    expect(parseResponses(text)[0]!.status).toBe(413);
  });
});

describe("Expect: 100-continue with the body already there", () => {
  it("Expect: 100-continue is ignored if the body is already there", async () => {
    const { client } = await start(transports[0]![1], echo);
    const connection = await client(post("Content-Length: 5\r\nExpect: 100-continue\r\n", "hello"));
    await connection.responses(1);
    expect(connection.text).not.toContain("100 Continue");
  });
});

describe.each(transports)("a streamed body on the %s transport", (_name, factory) => {
  it("A streamed body arrives piece by piece", async () => {
    const { client } = await start(factory, async (request) => {
      const pieces: string[] = [];
      for await (const piece of request.stream()) {
        pieces.push(Buffer.from(piece).toString());
        connection.send(pieces.length < 3 ? "1\r\nx\r\n" : "0\r\n\r\n");
      }
      return new Response(pieces.join("|"));
    });
    const connection = await client(chunked("1\r\nx\r\n"));
    expect((await connection.responses(1))[0]!.body).toBe("x|x|x");
  });

  it("A client waits if the handler of a streamed body does not read", async () => {
    let take = () => {};
    const taken = new Promise<void>((resolve) => {
      take = resolve;
    });
    const { client } = await start(factory, async (request) => {
      await taken;
      let size = 0;
      for await (const piece of request.stream()) size += piece.length;
      return new Response(String(size));
    });
    const connection = await client(post("Content-Length: 30000000\r\n"));
    for (let i = 0; i < 300; i++) connection.send("x".repeat(100_000));
    expect(await untilStill(() => connection.socket.writableLength)).toBeGreaterThan(15_000_000);
    take();
    expect((await connection.responses(1))[0]!.body).toBe("30000000");
  });

  it("A streamed body over the limit is refused", async () => {
    const { client } = await start(factory, async (request) => {
      request.routeBodyLimit = 10;
      try {
        for await (const _piece of request.stream()) {
          // only counted
        }
      } catch (error) {
        return problemResponse(error as HttpError);
      }
      return new Response("all");
    });
    expect((await (await client(chunked("b\r\n0123456789a\r\n0\r\n\r\n"))).responses(1))[0]!.status).toBe(413);
    expect((await (await client(post("Content-Length: 11\r\n"))).responses(1))[0]!.status).toBe(413);
  });

  it("A streamed body can be echoed while it arrives", async () => {
    const { client } = await start(factory, (request) => new Response(request.stream()));
    const connection = await client(post("Content-Length: 6\r\n", "abc"));
    await connection.until((text) => text.includes("abc"));
    connection.send("def");
    expect((await connection.responses(1))[0]!.body).toBe("abcdef");
  });

  it("A handler can stop reading a streamed body in the middle", async () => {
    const { client } = await start(factory, async (request) => {
      for await (const piece of request.stream()) return new Response(`first of ${piece.length}`);
      return new Response("none");
    });
    const connection = await client(post("Content-Length: 8\r\n", "abc"));
    await connection.responses(1);
    connection.send(`defgh${post("Content-Length: 2\r\n", "hi")}`);
    expect((await connection.responses(2))[1]!.body).toBe("first of 2");
  });
});

describe.each(transports)("an unread body on the %s transport", (_name, factory) => {
  const refuse = () => new Response("no", 403);

  it("An unread large body closes the connection", async () => {
    const { exchange } = await start(factory, refuse);
    const text = await exchange(post("Content-Length: 100000\r\n", get("/hidden")));
    expect(parseResponses(text)).toHaveLength(1);
    expect(parseResponses(text)[0]!.headers.connection).toBe("close");
  });

  it("An unread body of unknown length closes the connection", async () => {
    const { exchange } = await start(factory, refuse);
    const text = await exchange(chunked(`5\r\nhello\r\n`));
    expect(parseResponses(text)).toHaveLength(1);
  });
});

describe.each(transports)("a client that leaves in the middle of a body on the %s transport", (_name, factory) => {
  it("A client that disconnects during a body fails the read and aborts the request", async () => {
    const notes: string[] = [];
    let request: Request | undefined;
    const { client } = await start(factory, (incoming) => {
      request = incoming;
      return reader(1000, notes)(incoming);
    });
    const connection = await client(post("Content-Length: 100\r\n", "hello"));
    await expect.poll(() => request).toBeDefined();
    connection.socket.destroy();
    await expect.poll(() => notes).toEqual(["INCOMPLETE_BODY"]);
    await expect.poll(() => request!.signal.aborted).toBe(true);
  });

  it("A client that ends its side during a pipelined body gets 400 after the earlier response", async () => {
    let release: ((response: Response) => void) | undefined;
    const { client } = await start(factory, (request) => {
      if (request.method === "POST") return reader(1000)(request);
      return new Promise<Response>((resolve) => {
        release = resolve;
      });
    });
    const connection = await client(get("/") + post("Content-Length: 100\r\n", "hello"));
    await expect.poll(() => release).toBeDefined();
    connection.socket.end();
    await settle(50);
    release!(new Response("first"));
    expect(parseResponses(await connection.readToEnd()).map((response) => response.status)).toEqual([200, 400]);
  });

  it("A client that ends its side during a body and still reads gets 400", async () => {
    const { client } = await start(factory, reader(1000));
    const connection = await client(post("Content-Length: 100\r\n", "hello"));
    connection.socket.end();
    expect(parseResponses(await connection.readToEnd()).map((response) => response.status)).toEqual([400]);
  });
});
