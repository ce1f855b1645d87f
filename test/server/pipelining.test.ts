import { once } from "node:events";
import { connect } from "node:net";
import { type Duplex, duplexPair } from "node:stream";
import { describe, expect, it } from "vitest";
import type { ListenAddress, Transport } from "../../src/server/transport.js";
import fc, { runs } from "../support/properties.js";
import { endingsOnNode, modelOnNode } from "./differences.js";
import {
  endings,
  type ModelEnding,
  type ModelRequest,
  type ModelResponse,
  modelDispatch,
  requests,
  turn,
} from "./exchange-model.js";
import { parseResponses, startForAll, transports } from "./support.js";

/** A way for the same bytes to get to the server, and for the responses to get back. */
interface Schedule {
  /** Places where the bytes are cut, as parts of the whole. */
  readonly cuts: readonly number[];
  /** The bytes are cut every so many bytes as well; 0 for no such cut. */
  readonly step: number;
  /** Turns of the event loop before each chunk, one number after the other, over and over. */
  readonly pauses: readonly number[];
  /** Bytes that each side takes before the other has to wait. */
  readonly room: number;
  /** Bytes that the client reads at a time; 0 to read everything at once. */
  readonly reads: number;
}

const schedules: fc.Arbitrary<Schedule> = fc.record({
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
  step: fc.constantFrom(0, 0, 0, 0, 1, 2, 7, 33, 1000),
  pauses: fc.array(fc.constantFrom(0, 0, 1, 2, 5), { minLength: 1, maxLength: 6 }),
  room: fc.constantFrom(16_384, 16_384, 1, 100, 100_000),
  reads: fc.constantFrom(0, 0, 1000, 40_000),
});

/** Warnings of Node, such as one about listeners that a client made a server add without bound. */
const warnings: unknown[] = [];
process.on("warning", (warning) => warnings.push(warning));

const cases: Readonly<Record<string, number>> = {
  net: runs(1500),
  node: runs(500),
  http2: runs(250),
  epoll: runs(400),
  io_uring: runs(400),
};

describe.each(transports)("sequences of requests on the %s transport", (name, factory) => {
  const server = startForAll(factory, modelDispatch);
  const differs = name === "node" ? endingsOnNode : {};
  const sequences = fc.record({
    list: requests,
    ending: fc.constantFrom(...endings.filter((ending) => !(ending.name in differs))),
    schedule: schedules,
  });

  it("Pipelined requests get the same responses however their bytes are cut and however slowly the client reads", {
    timeout: 600_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(sequences, async ({ list, ending, schedule }) => {
        const isNative = name === "epoll" || name === "io_uring";
        const client = isNative ? await connected(server().address) : paired(server().transport, schedule);
        const bytes = list.map((request) => request.bytes).join("") + ending.bytes;
        const methods = list.map((request) => request.method);
        const sending = send(client, chunksOf(bytes, schedule), schedule.pauses).then(() => {
          // node:http drops the responses that are not ready when the client ends its side.
          if (name !== "node") client.end();
        });
        const { text, over } = await received(client, schedule.reads, sending);
        const responses = responsesIn(text, methods);
        const model = expected(list, ending);
        expect(responses).toEqual(name === "node" ? modelOnNode(model, responses) : model);
        if (name !== "node") expect(over).toBe(true);
      }),
      { numRuns: cases[name]! },
    );
    expect(server().errors).toEqual([]);
    expect(warnings).toEqual([]);
  });
});

function paired(transport: Transport, { room }: Schedule): Duplex {
  const [client, theirs] = duplexPair({ highWaterMark: room });
  transport.accept(theirs);
  return client;
}

/** Only real sockets are native. */
async function connected({ port }: ListenAddress): Promise<Duplex> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true, noDelay: true });
  await once(socket, "connect");
  return socket;
}

function expected(list: readonly ModelRequest[], ending: ModelEnding): ModelResponse[] {
  const responses = list.map((request) => request.response);
  return ending.response === null ? responses : [...responses, ending.response];
}

function responsesIn(text: string, methods: readonly string[]): ModelResponse[] {
  return parseResponses(text, methods).map(({ status, body, headers }) => ({
    status,
    body: status === 200 ? body : JSON.parse(body).status === status ? "problem" : body,
    closes: headers.connection === "close",
  }));
}

function chunksOf(bytes: string, { cuts, step }: Schedule): Buffer[] {
  const places = cuts.map((part) => Math.floor(part * bytes.length));
  // Small steps only where they are few: a large body would take a million turns.
  if (step > 0 && bytes.length / step < 3000) for (let at = step; at < bytes.length; at += step) places.push(at);
  const sorted = [0, ...places.sort((a, b) => a - b), bytes.length];
  const chunks = sorted.slice(1).map((end, i) => Buffer.from(bytes.slice(sorted[i], end), "latin1"));
  return chunks.filter((chunk) => chunk.length > 0);
}

async function send(client: Duplex, chunks: readonly Buffer[], pauses: readonly number[]): Promise<void> {
  for (let i = 0; i < chunks.length; i++) {
    for (let left = pauses[i % pauses.length]!; left > 0; left--) await turn();
    client.write(chunks[i]!);
  }
}

/** Turns of the event loop without a byte from the server after which nothing more is expected: no step needs a timer. */
const idleTurns = 1000;

interface Received {
  readonly text: string;
  /** The server has ended the connection. */
  readonly over: boolean;
}

/** Reads until the server ends the connection, `count` bytes a turn. */
async function received(client: Duplex, count: number, sending: Promise<void>): Promise<Received> {
  let text = "";
  let isSending = true;
  void sending.then(() => {
    isSending = false;
  });
  let over = false;
  let idle = 0;
  const take = (chunk: Buffer | null): void => {
    if (chunk === null) return;
    text += chunk.toString("latin1");
    idle = 0;
  };
  const end = (): void => {
    over = true;
  };
  client.on("error", end).on("end", end).on("close", end);
  if (count === 0) client.on("data", take);
  while (!over && idle < idleTurns) {
    await turn();
    idle = isSending || client.writableLength > 0 ? 0 : idle + 1;
    if (count > 0) take(client.read(Math.min(count, client.readableLength)) as Buffer | null);
  }
  client.destroy();
  return { text, over };
}
