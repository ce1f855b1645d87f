import { readFileSync } from "node:fs";
import { connect } from "node:tls";
import { expect, it } from "vitest";
import type { Request } from "../../../src/http/request.js";
import type { Response } from "../../../src/http/response.js";
import { start } from "./client.js";
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  FrameClient,
  frame,
  get,
  HEADERS,
  PING,
  PRIORITY,
  RST_STREAM,
  request,
  SETTINGS,
  uint32,
  WINDOW_UPDATE,
} from "./frames.js";

/** Frames that break the protocol for the whole connection (RFC 9113). */
const breaks: Readonly<Record<string, Buffer>> = {
  "DATA on stream 0": frame(DATA, 0, 0, Buffer.from("x")),
  "DATA on a stream that was never opened": frame(DATA, 0, 99, Buffer.from("x")),
  "HEADERS on stream 0": frame(HEADERS, END_STREAM | END_HEADERS, 0, request()),
  "HEADERS on an even stream": frame(HEADERS, END_STREAM | END_HEADERS, 2, request()),
  "HEADERS on an older stream": frame(HEADERS, END_STREAM | END_HEADERS, 1, request()),
  "CONTINUATION without HEADERS": frame(CONTINUATION, END_HEADERS, 1, request()),
  "a frame between HEADERS and CONTINUATION": Buffer.concat([
    frame(HEADERS, END_STREAM, 9, request()),
    frame(PING, 0, 0, Buffer.alloc(8)),
  ]),
  "a broken HPACK block": frame(HEADERS, END_STREAM | END_HEADERS, 9, Buffer.of(0xff, 0xff, 0xff, 0xff, 0xff, 0xff)),
  "PING of a wrong length": frame(PING, 0, 0, Buffer.alloc(7)),
  "PING on a stream": frame(PING, 0, 1, Buffer.alloc(8)),
  "SETTINGS of a wrong length": frame(SETTINGS, 0, 0, Buffer.alloc(5)),
  "SETTINGS with ACK and a payload": frame(SETTINGS, ACK, 0, Buffer.alloc(6)),
  "SETTINGS on a stream": frame(SETTINGS, 0, 1),
  "WINDOW_UPDATE of 0 on the connection": frame(WINDOW_UPDATE, 0, 0, uint32(0)),
  "WINDOW_UPDATE beyond the largest window": frame(WINDOW_UPDATE, 0, 0, uint32(2 ** 31 - 1)),
  "RST_STREAM on stream 0": frame(RST_STREAM, 0, 0, uint32(8)),
  "RST_STREAM on an idle stream": frame(RST_STREAM, 0, 99, uint32(8)),
  "PRIORITY on stream 0": frame(PRIORITY, 0, 0, Buffer.alloc(5)),
  "a frame that is too large": frame(DATA, 0, 1, Buffer.alloc(20_000)),
};

const fixture = (name: string) => readFileSync(new URL(`../fixtures/${name}`, import.meta.url));
const connectTls = (port: number) => connect({ port, ALPNProtocols: ["h2"], rejectUnauthorized: false });
/** No limit of time ends anything here. */
const patient = { headTimeout: 600, bodyTimeout: 600, bodyTotalTimeout: 600, keepAliveTimeout: 600, writeTimeout: 600 };

it.each([
  ["leaves", ""],
  ["stays", ""],
  ["leaves", " over TLS"],
])(
  "The handlers of a client that breaks the protocol of HTTP/2 and %s%s are told, and its connection is closed",
  async (then, over) => {
    const tls = over === "" ? null : { cert: fixture("cert.pem"), key: fixture("key.pem") };
    const handled = new Map<string, Request[]>();
    const server = await start(
      (one) => {
        handled.set(one.path, [...(handled.get(one.path) ?? []), one]);
        return new Promise<Response>(() => {});
      },
      { ...patient, tls },
    );
    const results = Object.entries(breaks).map(async ([name, bytes], index) => {
      const path = `/${index}`;
      const client = await FrameClient.open(
        server.address,
        [],
        tls === null ? undefined : connectTls(server.address.port),
      );
      client.send(get(1, path), get(3, path), get(5, path));
      await expect.poll(() => handled.get(path)).toHaveLength(3);
      client.send(bytes);
      if (then === "leaves") client.socket.end();
      await expect.poll(() => handled.get(path)!.filter(({ signal }) => signal.aborted)).toHaveLength(3);
      await client.end();
      return [name, client.closed];
    });
    expect(await Promise.all(results)).toEqual(Object.keys(breaks).map((name) => [name, true]));
  },
);
