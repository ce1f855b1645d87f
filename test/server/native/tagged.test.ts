import { once } from "node:events";
import { connect } from "node:net";
import { expect, it } from "vitest";
import { Response } from "../../../src/http/response.js";
import type { Dispatch, ListenAddress } from "../../../src/server/transport.js";
import { seeded } from "../mutate.js";
import { onEachEngine, start } from "../support.js";

const connections = 200;
const inAll = process.env["STOA_LONG"] === "1" ? 1_000_000 : 10_000;
/** Requests that leave in one write. */
const together = 5;

/** The text that belongs to a tag: another byte in it would be seen. */
function textOf(tag: string, size: number): string {
  return `${tag};`.repeat(Math.ceil(size / (tag.length + 1))).slice(0, size);
}

/** Responds with the tag of path, field and body, and with as much text as was asked for. */
const dispatch: Dispatch = async (request) => {
  const [, tag = "", size = "", later = ""] = request.path.split("/");
  if (later === "later") await new Promise((resolve) => setImmediate(resolve));
  const body = request.source.body;
  const bytes = body === null ? null : (body.received ?? (await body.read(1_000_000)));
  const sent = bytes === null ? "" : Buffer.from(bytes).toString("latin1");
  // Read after waiting: the head must have been kept.
  const same = request.source.header("x-tag") === tag && request.source.search === `?${tag}`;
  if (!same || sent !== textOf(tag, sent.length)) return new Response(`wrong request of ${tag}`);
  const text = textOf(tag, Number(size));
  return new Response(later === "bytes" ? Buffer.from(text) : text);
};

/** Sends tagged requests, a few at a time, and compares all bytes of the responses. */
async function converse(address: ListenAddress, number: number, count: number): Promise<void> {
  const random = seeded(number + 1);
  const sizeUpTo = (most: number): number => Math.floor(most * random() ** 6);
  const socket = connect({ port: address.port, host: address.host, noDelay: true });
  socket.setEncoding("latin1");
  await once(socket, "connect");
  const reading = socket[Symbol.asyncIterator]();
  let text = "";
  for (let n = 0; n < count; n += together) {
    let sent = "";
    let expected = "";
    for (let i = n; i < n + together; i++) {
      const tag = `c${number}r${i}`;
      const size = sizeUpTo(100_000);
      const body = random() < 0.3 ? textOf(tag, sizeUpTo(100_000)) : null;
      const kind = ["now", "later", "bytes"][Math.floor(3 * random())];
      const head = `/${tag}/${size}/${kind}?${tag} HTTP/1.1\r\nHost: a\r\nX-Tag: ${tag}\r\n`;
      sent += body === null ? `GET ${head}\r\n` : `POST ${head}Content-Length: ${body.length}\r\n\r\n${body}`;
      expected += textOf(tag, size);
    }
    socket.write(sent, "latin1");
    let got = "";
    for (let left = together; left > 0; ) {
      const headEnd = text.indexOf("\r\n\r\n") + 4;
      const length = Number(/content-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? Number.POSITIVE_INFINITY);
      if (headEnd > 3 && text.length >= headEnd + length) {
        got += text.slice(headEnd, headEnd + length);
        text = text.slice(headEnd + length);
        left--;
        continue;
      }
      const { value, done } = await reading.next();
      if (done) throw new Error("the server ended the connection");
      text += value;
    }
    if (got !== expected) expect(got).toBe(expected);
  }
  socket.destroy();
}

onEachEngine("many connections of the native transport with %s", (factory) => {
  it("Each connection gets the bytes of its own requests alone", { timeout: 1_800_000 }, async () => {
    const { address, errors, transport } = await start(factory, dispatch);
    const each = inAll / connections;
    await Promise.all(Array.from({ length: connections }, (_, number) => converse(address, number, each)));
    expect(errors).toEqual([]);
    await expect.poll(() => transport.connections).toBe(0);
  });
});
