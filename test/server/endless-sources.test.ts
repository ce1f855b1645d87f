import { Worker } from "node:worker_threads";
import { App, Response } from "stoa";
import { serve } from "stoa/testing";
import { describe, expect, it, onTestFinished } from "vitest";

/** Pieces after which a source gives up: without turns of the event loop nothing else would end it. */
const far = 2_000_000;

/** An application with sources that never wait. */
function endlessApp(): { app: App; source: { pieces: number; isOver: boolean } } {
  const source = { pieces: 0, isOver: false };
  async function* endless<T>(piece: T): AsyncGenerator<T> {
    try {
      while (source.pieces++ < far) yield piece;
    } finally {
      source.isOver = true;
    }
  }
  const app = new App();
  app.get("/other", () => ({ pieces: source.pieces, isOver: source.isOver }));
  app.get("/stream", () => Response.stream(endless("a row\n")));
  app.get("/events", () => Response.sse(() => endless({ data: 1 })));
  app.websocket("/socket", async (socket) => {
    for await (const piece of endless("a message")) await socket.sendText(piece);
  });
  app.enableGraphql({
    typeDefs: "type Query { a: Int } type Subscription { fast: Int }",
    resolvers: { Subscription: { fast: { subscribe: () => endless({ fast: 1 }) } } },
  });
  return { app, source };
}

/** Reads as fast as it can, in a thread of its own: the source never has to wait for it. */
const reader = `
  const { workerData } = require("node:worker_threads");
  const socket = require("node:net").connect(workerData.port, "127.0.0.1");
  socket.on("error", () => {}).resume().write(workerData.request);
`;

const upgrade =
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";

describe("sources that never wait", { timeout: 120_000 }, () => {
  it.each([
    ["a stream", "/stream", ""],
    ["a stream of events", "/events", ""],
    ["a series of WebSocket messages", "/socket", upgrade],
    ["a subscription of GraphQL", "/graphql?query=subscription%7Bfast%7D", "Accept: text/event-stream\r\n"],
  ])(
    "While %s has no end, other requests get responses, and the source ends when its client leaves",
    async (...row) => {
      const [, target, fields] = row;
      const { app, source } = endlessApp();
      const server = await serve(app, { debug: false });
      onTestFinished(() => server.close());
      const request = `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n${fields}\r\n`;
      const client = new Worker(reader, {
        eval: true,
        workerData: { port: Number(new URL(server.url).port), request },
      });
      onTestFinished(() => void client.terminate());
      await expect.poll(() => source.pieces, { timeout: 60_000 }).toBeGreaterThan(0);
      const other = (await (await fetch(`${server.url}/other`)).json()) as { pieces: number; isOver: boolean };
      expect(other).toEqual({ pieces: expect.any(Number), isOver: false });
      await client.terminate();
      await expect.poll(() => source.isOver, { timeout: 60_000 }).toBe(true);
      expect(source.pieces).toBeLessThan(far);
    },
  );
});
