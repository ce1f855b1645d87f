import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { formatEvent, type SseOptions, type SseSource, sseStream } from "../../src/http/sse.js";
import { ValueError } from "../../src/kit/value-error.js";

async function collect(source: SseSource, options?: SseOptions): Promise<string[]> {
  const texts: string[] = [];
  for await (const text of sseStream(source, options)) texts.push(text);
  return texts;
}

async function* from(...items: unknown[]): AsyncGenerator<unknown> {
  yield* items;
}

describe("an event", () => {
  it.each<[string, unknown, string]>([
    ["a string is data", "hello", "data: hello\n\n"],
    ["an empty string is an event with empty data", "", "data: \n\n"],
    ["a space at the beginning is kept", " x", "data:  x\n\n"],
    ["every kind of line break begins a new line", "a\nb\r\nc\rd", "data: a\ndata: b\ndata: c\ndata: d\n\n"],
    ["a line break at the end is kept", "a\n", "data: a\ndata: \n\n"],
    ["data that is no string is sent as JSON", { data: { a: [1, "x\ny"] } }, 'data: {"a":[1,"x\\ny"]}\n\n'],
    ["an object without data is sent as JSON", { id: 1, title: "x" }, 'data: {"id":1,"title":"x"}\n\n'],
    ["a list is sent as JSON", [1, 2], "data: [1,2]\n\n"],
    ["a number is sent as JSON", 5, "data: 5\n\n"],
    ["null is sent as JSON", null, "data: null\n\n"],
    [
      "every field has its line",
      { data: "x", event: "tick", id: 7, retry: "1s", comment: "c" },
      ": c\nevent: tick\nid: 7\nretry: 1000\ndata: x\n\n",
    ],
    ["an empty id resets the last one", { data: "x", id: "" }, "id: \ndata: x\n\n"],
    ["a comment may stand alone", { comment: "a\nb" }, ": a\n: b\n\n"],
  ])("An event is written by this rule: %s", (_, item, text) => {
    expect(formatEvent(item)).toBe(text);
  });

  it.each<[string, unknown, RegExp]>([
    ["a line feed in the event", { data: "x", event: "a\ndata: evil" }, /the event of an event.*line break/],
    ["a carriage return in the event", { data: "x", event: "a\rb" }, /line break/],
    ["a line break in the id", { data: "x", id: "1\r\n" }, /the id of an event.*line break/],
    ["NUL in the id", { data: "x", id: "1\0" }, /NUL/],
    ["a negative retry", { data: "x", retry: -1 }, /a duration/],
    ["a retry without a unit", { data: "x", retry: "1" }, /a duration/],
    ["a key that events do not have", { data: [], total: 5 }, /no key 'total'.*\{ data: object \}/],
    ["no data", { data: undefined }, /it has no data/],
    ["undefined", undefined, /undefined cannot be sent/],
    ["a function", () => {}, /cannot be sent/],
  ])("An event with %s is refused", (_, item, message) => {
    expect(() => formatEvent(item)).toThrow(ValueError);
    expect(() => formatEvent(item)).toThrow(message);
  });
});

describe("an event stream", () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it("An event stream sends the items of its source and ends with it", async () => {
    expect(await collect(from("a", { data: 1 }))).toEqual(["data: a\n\n", "data: 1\n\n"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("An event stream sends the time to reconnect first", async () => {
    expect(await collect(from("a"), { retry: 2.5 })).toEqual(["retry: 2500\n\n", "data: a\n\n"]);
  });

  it("An event stream sends a comment whenever the source was idle for the heartbeat time", async () => {
    const { source, push } = manual();
    const stream = sseStream(source);
    const first = stream.next();
    await vi.advanceTimersByTimeAsync(14_999);
    expect(await settled(first)).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect((await first).value).toBe(": \n\n");
    const second = stream.next();
    await vi.advanceTimersByTimeAsync(15_000);
    expect((await second).value).toBe(": \n\n");
    const third = stream.next();
    await vi.advanceTimersByTimeAsync(10_000);
    push("a");
    expect((await third).value).toBe("data: a\n\n");
    const fourth = stream.next();
    await vi.advanceTimersByTimeAsync(14_000);
    expect(await settled(fourth)).toBe(false);
    await stream.return!();
  });

  it("An event that arrives between a heartbeat and the next read is not lost", async () => {
    const { source, push } = manual();
    const stream = sseStream(source, { heartbeat: 1 });
    const beat = stream.next();
    await vi.advanceTimersByTimeAsync(1000);
    await beat;
    push("a");
    await vi.advanceTimersByTimeAsync(0);
    expect((await stream.next()).value).toBe("data: a\n\n");
    await stream.return!();
  });

  it("A heartbeat of 0 sends none, and none is sent while the client does not read", async () => {
    const quiet = sseStream(manual().source, { heartbeat: 0 });
    const pending = quiet.next();
    expect(vi.getTimerCount()).toBe(0);
    await quiet.return!();
    expect((await pending).done).toBe(true);

    const stream = sseStream(from("a", "b"), { heartbeat: 1 });
    await stream.next();
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await stream.next()).value).toBe("data: b\n\n");
  });

  it("An error of the source ends the event stream with that error", async () => {
    async function* failing() {
      yield "a";
      throw new Error("broken");
    }
    const stream = sseStream(failing());
    await stream.next();
    await expect(stream.next()).rejects.toThrow("broken");
    expect((await stream.next()).done).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("An error of the source that came between two reads is reported by the next read", async () => {
    const { source, fail } = manual();
    const stream = sseStream(source, { heartbeat: 1 });
    const beat = stream.next();
    await vi.advanceTimersByTimeAsync(1000);
    await beat;
    fail(new Error("broken"));
    await vi.advanceTimersByTimeAsync(0);
    await expect(stream.next()).rejects.toThrow("broken");
  });

  it("A returned event stream ends at once, even if its source waits forever", async () => {
    let signal: AbortSignal | undefined;
    const stream = sseStream(async function* (given) {
      signal = given;
      yield "a";
      await new Promise(() => {});
    });
    await stream.next();
    const pending = stream.next();
    await vi.advanceTimersByTimeAsync(0);
    expect(signal!.aborted).toBe(false);
    expect(await stream.return!()).toEqual({ done: true, value: undefined });
    expect((await pending).done).toBe(true);
    expect(signal!.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
    expect((await stream.next()).done).toBe(true);
  });

  it("A source that observes the signal can clean up", async () => {
    const steps: string[] = [];
    const stream = sseStream(async function* (signal) {
      try {
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
        yield "never";
      } finally {
        steps.push("cleaned up");
      }
    });
    const pending = stream.next();
    await vi.advanceTimersByTimeAsync(0);
    await stream.return!();
    await pending;
    await vi.advanceTimersByTimeAsync(0);
    expect(steps).toEqual(["cleaned up"]);
  });

  it("A generator between two events is ended with the stream", async () => {
    const steps: string[] = [];
    async function* source() {
      try {
        yield "a";
        yield "b";
      } finally {
        steps.push("cleaned up");
      }
    }
    for await (const _ of sseStream(source())) break;
    await vi.advanceTimersByTimeAsync(0);
    expect(steps).toEqual(["cleaned up"]);
  });

  it("The source is ended even if nothing was read from it", async () => {
    let cancelled = false;
    const source = new ReadableStream<string>({
      cancel() {
        cancelled = true;
      },
    });
    await sseStream(source).return!();
    expect(cancelled).toBe(true);
    const never = vi.fn();
    await sseStream(never).return!();
    expect(never).not.toHaveBeenCalled();
  });

  it("The source is ended if an item cannot be sent", async () => {
    const steps: string[] = [];
    async function* source() {
      try {
        yield { data: "x", event: "a\nb" };
      } finally {
        steps.push("cleaned up");
      }
    }
    await expect(collect(source())).rejects.toThrow(ValueError);
    expect(steps).toEqual(["cleaned up"]);
  });

  it("Errors of a source during its end are ignored", async () => {
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<IteratorResult<unknown>>(() => {}),
        return: () => Promise.reject(new Error("too late")),
      }),
    };
    const stream = sseStream(source);
    const pending = stream.next();
    await stream.return!();
    expect((await pending).done).toBe(true);
    await vi.advanceTimersByTimeAsync(0);
  });

  it("An event stream has one reader at a time", async () => {
    const stream = sseStream(manual().source);
    const first = stream.next();
    await expect(stream.next()).rejects.toThrow("one reader");
    await stream.return!();
    await first;
  });

  it.each<[string, unknown, unknown, RegExp]>([
    ["a source that is no async iterable", ["a"], undefined, /async iterable or a function/],
    ["a negative heartbeat", from(), { heartbeat: -1 }, /option 'heartbeat'/],
    ["a heartbeat that no timer holds", from(), { heartbeat: 1e9 }, /option 'heartbeat'/],
    ["an unknown option", from(), { heartBeats: 1 }, /did you mean 'heartbeat'/],
    ["a negative retry", from(), { retry: -1 }, /option 'retry'/],
  ])("An event stream refuses %s at once", (_, source, options, message) => {
    expect(() => sseStream(source as SseSource, options as SseOptions)).toThrow(message);
  });

  it("A function that returns no async iterable is an error", async () => {
    await expect(sseStream((() => 5) as unknown as SseSource).next()).rejects.toThrow("returned 5");
  });
});

async function settled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol();
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}

/** A source whose events come when the test says so. */
function manual(): { source: AsyncIterable<unknown>; push(item: unknown): void; fail(error: Error): void } {
  const next: { resolve: (result: IteratorResult<unknown>) => void; reject: (error: Error) => void }[] = [];
  return {
    source: {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise((resolve, reject) => next.push({ resolve, reject })),
      }),
    },
    push: (value) => next.shift()!.resolve({ done: false, value }),
    fail: (error) => next.shift()!.reject(error),
  };
}
