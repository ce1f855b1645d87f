import { GrpcChannel } from "stoa/grpc";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Echo } from "./fixtures/echo_pb.js";
import { Peer, type RunningApp, serve } from "./support.js";

/** What the called server has seen of its calls. */
const seen: { timeouts: (string | null | undefined)[]; aborted: number } = { timeouts: [], aborted: 0 };
let called: RunningApp;
let calling: RunningApp;
let peer: Peer;

const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) =>
    signal.addEventListener("abort", () => {
      seen.aborted++;
      reject(signal.reason);
    }),
  );

/** Milliseconds of a header such as `4999000u`. */
function millisecondsOf(header: string | null | undefined): number {
  const factor = { n: 1e-6, u: 1e-3, m: 1, S: 1000, M: 60_000, H: 3_600_000 }[header!.at(-1)!]!;
  return Number(header!.slice(0, -1)) * factor;
}

beforeAll(async () => {
  called = await serve((app) => {
    app.addGrpcService(Echo, {
      say: ({ text }, { request, signal }) => {
        seen.timeouts.push(request.headers.get("grpc-timeout"));
        return text === "hang" ? never(signal) : { text };
      },
    });
  });
  calling = await serve(
    (app) => {
      const { say } = app.grpcChannel(called.target, { timeout: "1h" }).client(Echo);
      const guarded = async (): Promise<boolean> => (await say({ text: "guard" })).text === "guard";
      app.addGrpcService(
        Echo,
        {
          say: ({ text }) => say({ text }),
          look: ({ text }) => say({ text }, { inherit: false }),
          // The call is made after the first message, when the client asks for the second.
          async *count({ text }) {
            yield { number: 1 };
            yield await say({ text });
          },
        },
        { guards: [guarded] },
      );
    },
    { enableWeb: true },
  );
  peer = new Peer(calling.target);
});

afterAll(async () => {
  peer.close();
  await calling.close();
  await called.close();
});

beforeEach(() => {
  Object.assign(seen, { timeouts: [], aborted: 0 });
});

describe("a call that is made while a call is served", () => {
  it("It has what is left of the deadline of the served call, in handlers, streams and guards", async () => {
    const deadline = { options: { deadline: Date.now() + 60_000 } };
    expect((await peer.call(Echo.method.say, { text: "a" }, deadline)).code).toBe(0);
    expect((await peer.call(Echo.method.count, { text: "a" }, deadline)).code).toBe(0);
    expect(seen.timeouts).toHaveLength(4);
    for (const timeout of seen.timeouts) expect(millisecondsOf(timeout)).toBeLessThanOrEqual(60_000);
  });

  it("It has what is left of the deadline of a call of Connect", async () => {
    const response = await fetch(new URL("/test.echo.v1.Echo/Say", calling.url), {
      method: "POST",
      headers: { "content-type": "application/json", "connect-timeout-ms": "60000" },
      body: '{"text":"a"}',
    });
    expect(response.status).toBe(200);
    expect(seen.timeouts).toHaveLength(2);
    for (const timeout of seen.timeouts) expect(millisecondsOf(timeout)).toBeLessThanOrEqual(60_000);
  });

  it("It has its own timeout if the served call has no deadline, or if it does not inherit", async () => {
    await peer.call(Echo.method.say, { text: "a" });
    await peer.call(Echo.method.look, { text: "a" }, { options: { deadline: Date.now() + 60_000 } });
    const [, own, , apart] = seen.timeouts.map(millisecondsOf);
    expect(own).toBeGreaterThan(60_000);
    expect(apart).toBeGreaterThan(60_000);
  });

  it("It is cancelled when the client cancels the served call", async () => {
    for (const method of [Echo.method.say, Echo.method.count] as const) {
      seen.aborted = 0;
      seen.timeouts.length = 0;
      let cancel = (): void => {};
      const call = peer.call(
        method as typeof Echo.method.say,
        { text: "hang" },
        {
          onCall: (made) => {
            cancel = () => made.cancel();
          },
        },
      );
      await expect.poll(() => seen.timeouts.length, { timeout: 10_000 }).toBe(2);
      cancel();
      expect((await call).code).toBe(1);
      await expect.poll(() => seen.aborted, { timeout: 10_000 }).toBe(1);
    }
  });
});

describe("a call whose interceptor takes longer than its timeout", () => {
  it("The timeout counts from the start of the call, and the server gets no message", async () => {
    const channel = new GrpcChannel(called.target, {
      interceptors: [
        async function* (_call, next) {
          await expect.poll(() => performance.now() - started).toBeGreaterThan(2);
          yield* next();
        },
      ],
    });
    const started = performance.now();
    await expect(channel.client(Echo).say({ text: "a" }, { timeout: "1ms" })).rejects.toMatchObject({
      statusName: "DEADLINE_EXCEEDED",
    });
    expect(seen.timeouts).toEqual([]);
    await channel.close();
  });
});
