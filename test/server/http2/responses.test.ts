import { describe, expect, it } from "vitest";
import { Response } from "../../../src/http/response.js";
import { send, start } from "./client.js";

async function* pieces(...list: (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
  yield* list;
}

describe("a response of HTTP/2", () => {
  const responseTo = async (respond: () => Response, headers: Record<string, string> = {}) => {
    const { ask } = await start(respond);
    return ask(headers);
  };

  it("A response of HTTP/2 has its type, length and date", async () => {
    const { status, headers, body } = await responseTo(() => new Response("hello"));
    expect({ status, body }).toEqual({ status: 200, body: "hello" });
    expect(headers).toMatchObject({ "content-type": "text/plain; charset=utf-8", "content-length": "5" });
    expect(new Date(String(headers["date"])).toUTCString()).toBe(headers["date"]);
    expect(headers["server"]).toBeUndefined();
  });

  it.each([0, 1, 1000, 65_536, 65_537, 200_000, 3_000_000])(
    "A response of %i bytes is sent over HTTP/2 as text and as bytes",
    async (size) => {
      const bytes = Buffer.alloc(size, "0123456789abcdef\xff", "latin1");
      expect((await responseTo(() => new Response(bytes))).body === bytes.toString("latin1")).toBe(true);
      const text = "naïve ☂ 🎈x".repeat(size / 12);
      const response = await responseTo(() => new Response(text));
      expect(Buffer.from(response.body, "latin1").toString() === text).toBe(true);
      expect(response.headers["content-length"]).toBe(String(Buffer.byteLength(text)));
    },
  );

  it("A response of HTTP/2 contains its fields in lower case, also repeated ones and those beyond ASCII", async () => {
    const { status, headers } = await responseTo(() => {
      const response = new Response("ö", { status: 201, headers: { "X-Name": "J\xf6rg", Vary: "a" } });
      response.headers.append("Vary", "b");
      return response.cookie("a", "1").cookie("b", "2");
    });
    expect(status).toBe(201);
    expect(headers["x-name"]).toBe("J\xf6rg");
    expect(headers["vary"]).toBe("a, b");
    expect(headers["set-cookie"]).toEqual([expect.stringMatching(/^a=1/), expect.stringMatching(/^b=2/)]);
  });

  it("Fields of a connection are not sent over HTTP/2, and the transport's own are never sent twice", async () => {
    const { headers, body } = await responseTo(
      () =>
        new Response("hello", {
          headers: {
            "content-length": "99",
            "Transfer-Encoding": "chunked",
            Date: "then",
            connection: "keep-alive",
            "Keep-Alive": "timeout=5",
            Upgrade: "h3",
          },
        }),
    );
    expect(headers).toMatchObject({ "content-length": "5", date: "then" });
    for (const name of ["transfer-encoding", "connection", "keep-alive", "upgrade"]) {
      expect(headers[name]).toBeUndefined();
    }
    expect(body).toBe("hello");
  });

  it("A response with Connection: close is the last one of an HTTP/2 connection", async () => {
    const { dial } = await start(() => new Response("x", { headers: { Connection: "close" } }));
    const session = await dial();
    const closed = new Promise((resolve) => session.on("close", resolve));
    expect((await send(session)).body).toBe("x");
    await closed;
  });

  it.each([204, 304])("A response of HTTP/2 with status %i has no body", async (status) => {
    const response = await responseTo(() => {
      const response = new Response("leftover");
      response.status = status;
      return response;
    });
    expect(response).toMatchObject({ status, body: "" });
    expect(response.headers["content-length"]).toBeUndefined();
  });

  it("A response to HEAD over HTTP/2 has the head of the response to GET", async () => {
    const head = { ":method": "HEAD" };
    const whole = await responseTo(() => new Response("hello ☂"), head);
    expect(whole.headers).toMatchObject({ "content-length": "9", "content-type": "text/plain; charset=utf-8" });
    expect(whole.body).toBe("");
    const given = await responseTo(() => new Response(null, { headers: { "Content-Length": "1234" } }), head);
    expect(given.headers["content-length"]).toBe("1234");
    const stream = await responseTo(() => new Response(pieces("a", "b")), head);
    expect(stream).toMatchObject({ status: 200, body: "", code: 0 });
  });

  it.each([
    ["a line end", "a\r\nSet-Cookie: evil=1"],
    ["signs that become a line end when cut to a byte", "a\u560d\u560aSet-Cookie: evil=1"],
    ["a NUL", "a\0b"],
    ["a sign beyond latin1", "☂"],
  ])("A response with %s in a field is not sent over HTTP/2, and the connection survives", async (_what, value) => {
    const { dial, errors } = await start((request) => {
      const response = new Response("x");
      if (request.path === "/bad") response.addField("X-Value", value);
      return response;
    });
    const session = await dial();
    expect((await send(session, { ":path": "/bad" })).status).toBe(500);
    expect((await send(session)).status).toBe(200);
    expect(errors).toHaveLength(1);
  });

  it("An application that throws gives a 500 response over HTTP/2", async () => {
    const { dial, errors } = await start((request) => {
      if (request.path === "/sync") throw new Error("sync");
      return Promise.reject(new Error("async"));
    });
    const session = await dial();
    expect((await send(session, { ":path": "/sync" })).status).toBe(500);
    expect(JSON.parse((await send(session, { ":path": "/async" })).body)).toMatchObject({ status: 500 });
    expect(errors).toEqual([new Error("sync"), new Error("async")]);
  });

  it("A stream is sent over HTTP/2 as it is made, with and without a length", async () => {
    expect((await responseTo(() => new Response(pieces("a", Buffer.from("b"), "c".repeat(100_000))))).body).toBe(
      `ab${"c".repeat(100_000)}`,
    );
    const sized = await responseTo(() => new Response(pieces("ab", "cd"), { headers: { "Content-Length": "4" } }));
    expect(sized).toMatchObject({ body: "abcd", headers: { "content-length": "4" } });
  });

  it("The first piece of a stream reaches the client before the second is made", async () => {
    let more = () => {};
    const { dial } = await start(() =>
      Response.sse(
        (async function* () {
          yield { data: "1" };
          await new Promise<void>((resolve) => {
            more = resolve;
          });
          yield { data: "2" };
        })(),
      ),
    );
    const session = await dial();
    const stream = session.request({ ":path": "/" });
    let text = "";
    stream.on("data", (piece) => {
      text += piece;
    });
    await expect.poll(() => text).toContain("data: 1");
    more();
    await expect.poll(() => text).toContain("data: 2");
  });

  it("A stream that fails, or is shorter than its length, resets the HTTP/2 stream", async () => {
    const { dial, errors } = await start(({ path }) =>
      path === "/fails"
        ? new Response(
            (async function* () {
              yield "seen";
              throw new Error("broken");
            })(),
          )
        : new Response(pieces("ab"), { headers: { "Content-Length": "4" } }),
    );
    const session = await dial();
    expect((await send(session, { ":path": "/fails" })).code).toBe(2);
    expect((await send(session)).code).not.toBe(0);
    expect(errors).toHaveLength(2);
  });

  it("A stream that throws a value which nobody can read resets the HTTP/2 stream", async () => {
    const trap = () => {
      throw new Error("trap");
    };
    const { dial, errors } = await start(
      () =>
        new Response(
          (async function* () {
            yield "seen";
            throw new Proxy({}, { get: trap, getPrototypeOf: trap });
          })(),
        ),
    );
    expect((await send(await dial())).code).toBe(2);
    expect(errors).toHaveLength(1);
  });

  it("A stream is stopped when its client cancels it, and holds back while the client does not read", async () => {
    let made = 0;
    let stopped = false;
    const { dial } = await start(
      () =>
        new Response(
          (async function* () {
            try {
              for (;;) {
                made++;
                yield "x".repeat(10_000);
              }
            } finally {
              stopped = true;
            }
          })(),
        ),
    );
    const session = await dial();
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => {});
    await expect.poll(() => made).toBeGreaterThan(0);
    let before = -1;
    // The client does not read: after its window and our buffer, nothing more is made.
    await expect.poll(() => before === (before = made), { interval: 200 }).toBe(true);
    expect(made).toBeLessThan(100);
    stream.close(8);
    await expect.poll(() => stopped).toBe(true);
  });
});
