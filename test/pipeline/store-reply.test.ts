import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Request } from "../../src/http/request.js";
import { storeReply } from "../../src/pipeline/store-reply.js";
import { fakeSource } from "../http/fake-source.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function requestWith(storePatienceMs: number): Request {
  const request = new Request(fakeSource());
  request.host = { storePatienceMs } as never;
  return request;
}

/** A reply after so many milliseconds. */
const after = (milliseconds: number): Promise<string> =>
  new Promise((resolve) => setTimeout(() => resolve("reply"), milliseconds));
/** Longer than any reply here takes. What other files have left in this process may wait for ever. */
const allReplies = () => vi.advanceTimersByTimeAsync(5000);
const outcome = (reply: Promise<string>): Promise<unknown> => reply.catch((error: { status: number }) => error.status);

it("All replies of slow stores to one request together take no longer than one call may take", async () => {
  const request = requestWith(1000);
  const results: unknown[] = [];
  const start = performance.now();
  const asked = (async () => {
    for (let i = 0; i < 5; i++) results.push(await outcome(storeReply(request, after(600))));
    return performance.now();
  })();
  await allReplies();
  const end = await asked;
  expect(results).toEqual(["reply", 503, 503, 503, 503]);
  // The second waits for what is left, the others not at all.
  expect(end - start).toBeLessThan(600 + 400 + 601);
});

it("Fast replies do not use up the time of a request", async () => {
  const request = requestWith(1000);
  for (let i = 0; i < 50; i++) {
    const reply = outcome(storeReply(request, after(40)));
    await allReplies();
    expect(await reply).toBe("reply");
  }
});

it("A store that fails after its time is up leaves no unhandled rejection", async () => {
  const request = requestWith(1000);
  const fails = (): Promise<string> => after(900).then(() => Promise.reject(new Error("away")));
  const first = outcome(storeReply(request, fails()));
  await allReplies();
  expect(await first).toBeUndefined();
  const second = outcome(storeReply(request, fails()));
  await allReplies();
  expect(await second).toBe(503);
});

it("One request does not use up the time of another, and without a limit none is used", async () => {
  const [one, two, free] = [requestWith(100), requestWith(100), requestWith(Number.POSITIVE_INFINITY)];
  for (const [request, expected] of [
    [one, "reply"],
    [one, 503],
    [two, "reply"],
    [free, "reply"],
    [free, "reply"],
  ] as const) {
    const reply = outcome(storeReply(request, after(99)));
    await allReplies();
    expect(await reply).toBe(expected);
  }
});
