import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, Socket } from "node:net";
import { expect, it } from "vitest";
import { Response } from "../../../src/http/response.js";
import { createNetTransport } from "../../../src/server/http1/transport.js";
import type { Transport, TransportOptions } from "../../../src/server/transport.js";

const options: TransportOptions = {
  maxHeadSize: 16_384,
  maxTargetSize: 8_192,
  maxHeaders: 100,
  maxBodyMemory: 0,
  maxUnreadMemory: 0,
  maxConnections: 0,
  headTimeout: 10,
  bodyTimeout: 30,
  bodyTotalTimeout: 300,
  keepAliveTimeout: 75,
  writeTimeout: 30,
  tls: null,
};

const requests = Array.from({ length: 200 }, (_, n) => `GET /${n} HTTP/1.1\r\nHost: a\r\n\r\n`).join("");

/** The text that a client reads that sends many requests at once; `prepare` changes the sockets before they are served. */
async function exchange(prepare: (socket: Socket, transport: Transport) => void): Promise<string> {
  const transport = createNetTransport((request) => new Response(`[${request.path}]`), options);
  const server = createServer({ allowHalfOpen: true }, (socket) => prepare(socket, transport)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  let text = "";
  client.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
  client.end(requests);
  await once(client, "close");
  transport.destroy();
  server.close();
  return text;
}

const inOrder = Array.from({ length: 200 }, (_, n) => `/${n}`);
const pathsIn = (text: string): string[] => [...text.matchAll(/\[(\/\d+)\]/g)].map((match) => match[1]!);

it("The bytes of a socket are received before they go through its stream", async () => {
  const events: number[] = [];
  const text = await exchange((socket, transport) => {
    transport.accept(socket);
    socket.prependListener("data", (chunk: Buffer) => events.push(chunk.length));
  });
  expect(pathsIn(text)).toEqual(inOrder);
  expect(events).toEqual([]);
});

it("Responses are the same if sockets deliver their bytes in another way", async () => {
  const text = await exchange((socket, transport) => {
    transport.accept(socket);
    socket.push = Socket.prototype.push;
  });
  expect(pathsIn(text)).toEqual(inOrder);
});

it("Bytes that already wait in the stream keep their order", async () => {
  const text = await exchange((socket, transport) => {
    socket.once("readable", () => transport.accept(socket));
  });
  expect(pathsIn(text)).toEqual(inOrder);
});
