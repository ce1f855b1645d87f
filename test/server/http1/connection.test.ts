import { describe, expect, it } from "vitest";
import { Response } from "../../../src/http/response.js";
import { BodyMemory } from "../../../src/server/body/body-memory.js";
import { UnreadResponses } from "../../../src/server/body/unread-responses.js";
import type { ClientSocket } from "../../../src/server/http1/client-socket.js";
import { Connection, type ConnectionHost } from "../../../src/server/http1/connection.js";
import { HeadParser } from "../../../src/server/http1/head.js";
import {
  BEHIND,
  CLOSED,
  type ConnectionState,
  FRESH,
  HEAD,
  IDLE,
  LINGERING,
  type Phase,
  REQUEST,
  SKIPPING,
} from "../../../src/server/http1/phase.js";
import { maxHeld } from "../../../src/server/http1/request-reader.js";
import { FieldLines, PreparedHeads } from "../../../src/server/http1/response-head.js";
import { defaultLimits } from "../../../src/server/limits.js";
import type { Dispatch } from "../../../src/server/transport.js";
import fc, { runs } from "../../support/properties.js";
import { endings, modelDispatch, requests, turn } from "../exchange-model.js";
import { get, parseResponses } from "../support.js";

/** A socket without a system behind it: the test decides how much is taken, and sees every call. */
class FakeSocket implements ClientSocket {
  text = "";
  writableLength = 0;
  paused = false;
  ended = false;
  destroyed = false;
  reset = false;
  room = Number.POSITIVE_INFINITY;

  write(data: string | Uint8Array, encoding: BufferEncoding = "utf8"): boolean {
    const bytes = typeof data === "string" ? Buffer.from(data, encoding) : Buffer.from(data);
    this.text += bytes.toString("latin1");
    if (this.room === Number.POSITIVE_INFINITY) return true;
    this.writableLength += bytes.length;
    return this.writableLength < this.room;
  }

  end(text = ""): void {
    this.text += text;
    this.ended = true;
  }

  cork(): void {}
  uncork(): void {}

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  destroy(): void {
    this.destroyed = true;
  }

  resetAndDestroy(): void {
    this.reset = true;
    this.destroyed = true;
  }
}

class FakeHost {
  readonly clock = { tick: 0, dateLine: "Date: now\r\n" };
  readonly parser = new HeadParser(defaultLimits);
  readonly heads = new PreparedHeads();
  readonly fieldLines = new FieldLines();
  readonly deadlines = { head: 10, body: 30, bodyTotal: 40, keepAlive: 75, write: 30, linger: 2, lingerInAll: 10 };
  readonly dispatch: Dispatch;
  readonly errors: unknown[] = [];
  readonly bodyMemory = new BodyMemory(100_000);
  readonly unread = new UnreadResponses(0, undefined);
  draining = false;
  open = true;

  constructor(dispatch: Dispatch) {
    this.dispatch = dispatch;
  }

  report(error: unknown): void {
    this.errors.push(error);
  }

  refused(): void {}

  left(): void {
    this.open = false;
  }

  handOver(): void {}
}

function connect(dispatch: Dispatch, secure = false): { host: FakeHost; socket: FakeSocket; connection: Connection } {
  const host = new FakeHost(dispatch);
  const socket = new FakeSocket();
  return { host, socket, connection: new Connection(host as unknown as ConnectionHost, socket, secure) };
}

function send(connection: Connection, text: string): void {
  const bytes = Buffer.from(text, "latin1");
  connection.received(bytes, 0, bytes.length);
}

/** The promise that each phase makes about the rest of the state. */
const invariants: Readonly<Record<Phase, (state: ConnectionState) => boolean>> = {
  [FRESH]: (state) => !state.request && !state.body && state.held === 0 && !state.ended && !state.behind,
  [IDLE]: (state) => !state.request && !state.body && state.held === 0 && !state.ended && !state.behind,
  [HEAD]: (state) => !state.request && !state.body && state.held > 0 && !state.ended && !state.behind,
  [REQUEST]: (state) => state.request && !(state.body && (state.held > 0 || state.ended)),
  [SKIPPING]: (state) => !state.request && state.body && state.held === 0 && !state.ended,
  [BEHIND]: (state) => !state.request && !state.body && state.behind && !(state.ended && state.held === 0),
  6: () => false, // UPGRADING is left before an event is over.
  [LINGERING]: (state) => !state.request && !state.body && state.held === 0,
  [CLOSED]: (state) => !state.request && !state.body && state.held === 0,
};

/** Transitions that an event can cause. Phases passed through on the way do not show. */
const nexts: Readonly<Record<Phase, readonly Phase[]>> = {
  [FRESH]: [HEAD, REQUEST, SKIPPING, IDLE, BEHIND, LINGERING, CLOSED],
  [IDLE]: [HEAD, REQUEST, SKIPPING, BEHIND, LINGERING, CLOSED],
  [HEAD]: [REQUEST, SKIPPING, IDLE, BEHIND, LINGERING, CLOSED],
  [REQUEST]: [HEAD, SKIPPING, IDLE, BEHIND, LINGERING, CLOSED],
  [SKIPPING]: [HEAD, REQUEST, IDLE, BEHIND, LINGERING, CLOSED],
  [BEHIND]: [HEAD, REQUEST, SKIPPING, IDLE, LINGERING, CLOSED],
  6: [],
  [LINGERING]: [CLOSED],
  [CLOSED]: [],
};

type Event =
  | { readonly kind: "bytes"; readonly size: number }
  | { readonly kind: "ticks"; readonly count: number }
  | { readonly kind: "turns" | "taken" | "end" | "gone" | "drain" };

const events: fc.Arbitrary<Event[]> = fc.array(
  fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({ kind: fc.constant("bytes" as const), size: fc.integer({ min: 1, max: 400 }) }),
    },
    { weight: 2, arbitrary: fc.constant({ kind: "bytes" as const, size: 50_000 }) },
    { weight: 4, arbitrary: fc.constant({ kind: "turns" as const }) },
    { weight: 4, arbitrary: fc.constant({ kind: "taken" as const }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("ticks" as const), count: fc.integer({ min: 1, max: 12 }) }),
    },
    { weight: 1, arbitrary: fc.constantFrom<Event>({ kind: "end" }, { kind: "gone" }, { kind: "drain" }) },
  ),
  { maxLength: 60 },
);

describe("the phase of a connection", () => {
  it("The phase of a connection keeps its invariants after every event, in every order of events", {
    timeout: 300_000,
  }, async () => {
    const seen = new Set<Phase>();
    await fc.assert(
      fc.asyncProperty(
        requests,
        fc.constantFrom(...endings),
        events,
        fc.constantFrom(Number.POSITIVE_INFINITY, 1, 5000),
        async (list, ending, schedule, room) => {
          const { host, socket, connection } = connect(modelDispatch);
          socket.room = room;
          const bytes = Buffer.from(list.map((request) => request.bytes).join("") + ending.bytes, "latin1");
          let sent = 0;
          let hasEnded = false;
          let phase: Phase = FRESH;
          const check = (): void => {
            const { state } = connection;
            seen.add(state.phase);
            expect(invariants[state.phase](state), JSON.stringify(state)).toBe(true);
            if (state.phase !== phase) expect(nexts[phase], `from ${phase} to ${state.phase}`).toContain(state.phase);
            expect(state.paused).toBe(socket.paused);
            if (state.phase === BEHIND) expect(host.unread.used).toBe(socket.writableLength);
            if (state.phase < LINGERING && !state.body) expect(state.paused).toBe(state.held > maxHeld);
            phase = state.phase;
          };
          for (const event of schedule) {
            switch (event.kind) {
              case "bytes":
                // As a real socket: nothing arrives while it is paused, or behind the end.
                if (socket.paused || hasEnded || socket.destroyed || sent === bytes.length) break;
                connection.received(
                  Buffer.from(bytes.subarray(sent, sent + event.size)),
                  0,
                  Math.min(event.size, bytes.length - sent),
                );
                sent += event.size;
                sent = Math.min(sent, bytes.length);
                break;
              case "turns":
                for (let i = 0; i < 3; i++) await turn();
                break;
              case "taken":
                if (socket.destroyed) break;
                socket.writableLength = 0;
                connection.drained();
                break;
              case "end":
                if (hasEnded || socket.destroyed) break;
                hasEnded = true;
                connection.ended();
                break;
              case "ticks":
                for (let i = 0; i < event.count && !socket.destroyed; i++) {
                  host.clock.tick++;
                  connection.checkDeadlines();
                }
                break;
              case "gone":
                socket.destroyed = true;
                break;
              case "drain":
                host.draining = true;
                if (!socket.destroyed) connection.drain();
            }
            if (socket.destroyed) connection.gone();
            check();
          }
          connection.gone();
          check();
          expect(host).toMatchObject({ open: false, errors: [] });
          expect(host.bodyMemory.used).toBe(0);
          expect(host.unread.used).toBe(0);
        },
      ),
      { numRuns: runs(3000) },
    );
    expect([...seen].sort()).toEqual([FRESH, IDLE, HEAD, REQUEST, SKIPPING, BEHIND, LINGERING, CLOSED]);
  });
});

describe("bytes behind a request that waits for its response", () => {
  it("Bytes behind a request that waits for its response stop the reading beyond a bound, and none is lost", async () => {
    let respond = (_response: Response) => {};
    let count = 0;
    const { socket, connection } = connect((request) => {
      if (count++ > 0) return new Response(request.path);
      return new Promise<Response>((resolve) => {
        respond = resolve;
      });
    });
    send(connection, get("/"));
    const more = get("/", `A: ${"a".repeat(1000)}\r\n`);
    let sent = 0;
    while (!socket.paused && sent < 1000) {
      send(connection, more);
      sent++;
    }
    expect(connection.state.held).toBeGreaterThan(maxHeld);
    expect(connection.state.held).toBeLessThanOrEqual(maxHeld + more.length);
    expect(count).toBe(1);
    respond(new Response("first"));
    await turn();
    expect(socket.paused).toBe(false);
    expect(parseResponses(socket.text)).toHaveLength(sent + 1);
  });
});

describe("a response that breaks off after it has begun", () => {
  async function* broken(): AsyncGenerator<string> {
    yield "one";
    await turn();
    throw new Error("lost");
  }

  it.each([
    ["a plain end: the missing last chunk shows the client that it is not whole", "1.1", false, false],
    ["a reset where the end of the connection is the end of the body", "1.0", false, true],
    ["a plain end over TLS, which has an end of its own", "1.0", true, false],
  ])("A response that breaks off after it has begun ends with %s", async (_, version, secure, reset) => {
    const { host, socket, connection } = connect(() => Response.stream(broken()), secure);
    send(connection, `GET / HTTP/${version}\r\nHost: a\r\n\r\n`);
    for (let turns = 0; turns < 100 && !socket.destroyed; turns++) await turn();
    expect([socket.destroyed, socket.reset]).toEqual([true, reset]);
    expect(socket.text).toContain("one");
    expect(host.errors).toHaveLength(1);
  });
});
