import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { Response } from "../../src/http/response.js";
import { BodyMemory } from "../../src/server/body/body-memory.js";
import { UnreadResponses } from "../../src/server/body/unread-responses.js";
import { createRequestListener } from "../../src/server/node/listener.js";
import { untilStill } from "../support/until-still.js";
import { get, parseResponses, start, transports } from "./support.js";

const patient = { headTimeout: 600, bodyTimeout: 600, bodyTotalTimeout: 600, keepAliveTimeout: 600, writeTimeout: 600 };
/** More than the system keeps for a client of a Unix socket. */
const requests = 10;

const folder = mkdtempSync(join(tmpdir(), "stoa-unread-"));
afterAll(() => rmSync(folder, { recursive: true }));

async function* pieces(): AsyncGenerator<Uint8Array> {
  for (let i = 0; i < 4; i++) yield Buffer.alloc(60_000);
}

describe.each(transports)("clients of the %s transport that do not read", (name, factory) => {
  it.each([
    ["text", () => new Response("x".repeat(200_000))],
    ["bytes", () => new Response(Buffer.alloc(200_000))],
    ["a stream", () => new Response(pieces())],
    ["a large text", () => new Response("x".repeat(400_000))],
  ])(
    "Beyond maxUnreadMemory the client that has read none of %s for the longest is disconnected",
    async (what, respond) => {
      let handled = 0;
      const codes: string[] = [];
      const { client, transport } = await start(
        factory,
        () => {
          handled++;
          return respond();
        },
        {
          ...patient,
          maxUnreadMemory: what === "a large text" ? 5_000_000 : 1_000_000,
          onAbuse: (code) => codes.push(code),
        },
        { host: "", port: 0, path: join(folder, `${name}-${what}`) },
      );
      const stuck = async () => {
        const connection = await client();
        connection.socket.pause();
        connection.send(get("/").repeat(requests));
        await untilStill(() => handled);
        return connection;
      };
      const first = await stuck();
      expect(codes).toEqual([]);
      let last = first;
      let opened = 1;
      for (; codes.length === 0 && opened < 500; opened++) last = await stuck();
      expect(new Set(codes)).toEqual(new Set(["RESPONSES_UNREAD"]));
      await expect.poll(() => transport.connections + codes.length).toBe(opened);
      first.socket.resume();
      expect(parseResponses(await first.readToEnd()).length).toBeLessThan(requests);
      last.socket.resume();
      expect(await last.responses(requests)).toHaveLength(requests);
    },
  );

  it("A large body counts whole while its client is behind; bytes that several clients are sent count once", async () => {
    const bytes = Buffer.alloc(4_000_000);
    let handled = 0;
    const codes: string[] = [];
    const { client } = await start(
      factory,
      ({ path }) => {
        handled++;
        return new Response(path === "/bytes" ? bytes : "x".repeat(4_000_000));
      },
      { ...patient, maxUnreadMemory: 4_000_000, onAbuse: (code) => codes.push(code) },
      { host: "", port: 0, path: join(folder, `${name}-whole`) },
    );
    const ask = async (path: string) => {
      const connection = await client();
      connection.socket.pause();
      connection.send(get(path));
      await untilStill(() => handled);
    };
    for (let i = 0; i < 8; i++) await ask("/bytes");
    expect(codes).toEqual([]);
    // Eight parts of 64 KiB, and bodies that count with half of the limit.
    for (let i = 0; i < 4 && codes.length === 0; i++) await ask("/text");
    await expect.poll(() => codes[0]).toBe("RESPONSES_UNREAD");
  });
});

it("In a server of the caller, which has no ticks, a client that has read all of a stream so far does not count", async () => {
  const unread = new UnreadResponses(0, undefined);
  let isCounted = false;
  const body = async function* () {
    for (; !isCounted; await new Promise(setImmediate)) yield Buffer.alloc(60_000);
    await new Promise(() => {});
  };
  const nothing = () => {};
  const listener = createRequestListener({
    dispatch: () => new Response(body()),
    draining: false,
    bodyMemory: new BodyMemory(0),
    unread,
    report: nothing,
    refused: nothing,
    began: nothing,
    over: nothing,
  });
  const socketPath = join(folder, "mounted");
  const server = createServer(listener).listen(socketPath);
  const client = request({ socketPath }).end();
  const [response] = await once(client, "response");
  await expect.poll(() => unread.used).toBeGreaterThan(0);
  isCounted = true;
  response.resume();
  await expect.poll(() => unread.used).toBe(0);
  client.destroy();
  server.close();
});
