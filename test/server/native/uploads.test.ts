import { connect, type Socket } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { Response } from "../../../src/http/response.js";
import { get, onEachEngine, start } from "../support.js";

const count = process.env["STOA_LONG"] ? 1000 : 50;
const size = 256 * 1024;
/** As docs/native.md says: the amount at which reading pauses, and one read beyond. */
const mostHeld = 128 * 1024;

onEachEngine("slow readers of native uploads with %s", (factory) => {
  it("A body that nobody reads holds no more than a bound, and none of the shared buffer", async () => {
    const fillers = Array.from({ length: 16 }, (_, n) => Buffer.alloc(size, n + 1));
    const bodies: { readonly arrived: number }[] = [];
    let goOn = (): void => {};
    const opened = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const { address, client } = await start(factory, async (request) => {
      const { body } = request.source;
      if (body === null) return new Response("none");
      bodies.push(body as unknown as { arrived: number });
      const pieces = body.stream(size);
      await opened;
      const filler = fillers[Number(request.path.slice(1)) % 16]!;
      let length = 0;
      for await (const piece of pieces) {
        if (!filler.subarray(0, piece.length).equals(piece)) return new Response("the bytes of another;");
        length += piece.length;
      }
      return new Response(`${length} bytes;`);
    });
    const before = process.memoryUsage().arrayBuffers;
    const results = Array.from({ length: count }, (_, n) => {
      const socket = connect(address.port, address.host);
      onTestFinished(() => void socket.destroy());
      socket.write(`POST /${n} HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n`);
      socket.write(fillers[n % 16]!);
      return textOf(socket);
    });
    await expect.poll(() => bodies.filter(({ arrived }) => arrived >= size / 4).length).toBe(count);
    // More would arrive in these turns if reading were not paused.
    const other = await client();
    for (let n = 1; n <= 20; n++) await other.send(get("/", `X-Other: ${"o".repeat(8000)}\r\n`)).responses(n);
    expect(Math.max(...bodies.map(({ arrived }) => arrived))).toBeLessThanOrEqual(mostHeld);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(count * mostHeld + 8_000_000);
    goOn();
    expect(new Set(await Promise.all(results))).toEqual(new Set([`${size} bytes;`]));
  });

  it("A client that sends a body that nobody reads has to wait", async () => {
    const most = 256 * 1024 * 1024;
    const { address, client } = await start(factory, async (request) => {
      request.source.body?.stream(most);
      return request.path === "/" ? new Response("other") : new Promise<Response>(() => {});
    });
    const socket = connect(address.port, address.host).on("error", () => {});
    onTestFinished(() => void socket.destroy());
    socket.write(`POST /held HTTP/1.1\r\nHost: a\r\nContent-Length: ${most}\r\n\r\n`);
    const piece = Buffer.alloc(256 * 1024);
    const other = await client();
    let taken = 0;
    // Until a piece is not taken while another client is served many times.
    for (let left = most / 2, served = 0, rest = 1; rest > 0 && taken < left; ) {
      socket.write(piece, () => void (taken += piece.length));
      const wanted = taken + piece.length;
      for (rest = 50; rest > 0 && taken < wanted; rest--) await other.send(get("/")).responses(++served);
    }
    expect(taken).toBeLessThan(most / 2);
  });
});

/** The body of the response; nothing if the connection ends without one. */
function textOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.setEncoding("latin1").on("data", (piece: string) => {
      text += piece;
      if (text.endsWith(";")) resolve(text.slice(text.indexOf("\r\n\r\n") + 4));
    });
    socket.on("error", () => {}).on("close", () => resolve(""));
  });
}
