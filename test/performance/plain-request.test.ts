import { createHook } from "node:async_hooks";
import { App } from "stoa";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { hostOf } from "../../src/app/app.js";
import { createNetTransport } from "../../src/server/http1/transport.js";
import { defaultLimits } from "../../src/server/limits.js";
import { duplexPair } from "../../src/testing/duplex-pair.js";

/** How often each thing happened that a plain request must not cause. */
const counts = { promises: 0, timers: 0, controllers: 0, fieldIndexes: 0 };

vi.mock("../../src/server/http1/fields.js", async (load) => {
  const actual = await load<typeof import("../../src/server/http1/fields.js")>();
  class CountedIndex extends actual.FieldIndex {
    constructor(text: string) {
      counts.fieldIndexes++;
      super(text);
    }
  }
  return { ...actual, FieldIndex: CountedIndex };
});

const RealController = globalThis.AbortController;
const hook = createHook({
  init(_id, type) {
    if (type === "PROMISE") counts.promises++;
    else if (type === "Timeout") counts.timers++;
  },
});

beforeEach(() => {
  globalThis.AbortController = class extends RealController {
    constructor() {
      counts.controllers++;
      super();
    }
  };
});
afterEach(() => {
  globalThis.AbortController = RealController;
});

/** Sends requests over one connection and counts what answering each of them caused. */
async function causedBy(app: App, request: string, times: number): Promise<typeof counts> {
  await app.start();
  const transport = createNetTransport(hostOf(app).dispatch, { ...defaultLimits, tls: null });
  const [client, server] = duplexPair();
  let answers = 0;
  client.on("data", (chunk: Buffer) => {
    answers += chunk.toString("latin1").split("HTTP/1.1 200").length - 1;
  });
  transport.accept(server);
  const turn = (done: () => void, left: number): void => {
    client.write(request);
    setImmediate(() => (left > 1 ? turn(done, left - 1) : setImmediate(done)));
  };
  const count = (done: () => void): void => {
    Object.assign(counts, { promises: 0, timers: 0, controllers: 0, fieldIndexes: 0 });
    hook.enable();
    turn(() => {
      hook.disable();
      done();
    }, times);
  };
  await new Promise<void>((resolve) => void setImmediate(count, resolve));
  // Per request: the runner of the tests has promises and timers of its own, a few in all.
  const seen = { ...counts };
  for (const name of Object.keys(seen) as (keyof typeof seen)[]) seen[name] = Math.floor(seen[name] / times);
  transport.destroy();
  expect(answers).toBe(times);
  return seen;
}

const get = "GET /users/7?q=1 HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nUser-Agent: test\r\n\r\n";
const times = 50;

describe("a plain request", () => {
  it("A plain request creates no promise, timer or abort controller and parses no header field", async () => {
    const app = new App();
    app.get("/users/{id}", (request) => ({ id: request.params.id, q: request.query.get("q") }));
    expect(await causedBy(app, get, times)).toEqual({ promises: 0, timers: 0, controllers: 0, fieldIndexes: 0 });
  });

  it("A plain request with synchronous middleware and guards creates no promise either", async () => {
    const app = new App();
    app.use({ before() {}, after() {} }).use((_request, next) => next());
    app.addGuard(() => true);
    app.get("/users/{id}", () => "x");
    expect(await causedBy(app, get, times)).toEqual({ promises: 0, timers: 0, controllers: 0, fieldIndexes: 0 });
  });

  it("The measurement sees a request that uses more", async () => {
    const app = new App();
    app.get("/users/{id}", async (request) => {
      request.signal;
      return request.headers.get("accept");
    });
    const seen = await causedBy(app, get, times);
    expect(seen.promises).toBeGreaterThanOrEqual(1);
    expect(seen).toMatchObject({ controllers: 1, fieldIndexes: 1 });
  });
});
