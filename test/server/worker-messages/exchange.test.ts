import { describe, expect, it, vi } from "vitest";
import type { HubService, HubWorker } from "../../../src/server/worker-messages/service.js";
import { Outbox } from "../../../src/server/worker-messages/unsent.js";
import { paired } from "../../engines/supervisor-state/pair.js";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("messages between workers and their supervisor", () => {
  it("Messages to the supervisor get replies in the order in which they were sent, and errors come back as errors", async () => {
    const heard: unknown[] = [];
    const echo: HubService = {
      hear: (_worker, data: unknown) => {
        heard.push(data);
        if (data === "fail") throw new Error("as asked");
        return Promise.resolve(data);
      },
    };
    const [worker] = paired({ echo }, 1);
    const replies = [1, 2, "fail", 3].map((data) =>
      worker!.link.ask("echo", data).catch((error: Error) => error.message),
    );
    expect(await Promise.all(replies)).toEqual([1, 2, "as asked", 3]);
    expect(heard).toEqual([1, 2, "fail", 3]);
    await expect(worker!.link.ask("nobody", 1)).rejects.toThrow("the supervisor has no service 'nobody'");
  });

  it("Messages of one turn leave in one frame, and those of the next turns wait until it is taken", async () => {
    const frames: number[] = [];
    let taken = (): void => {};
    const outbox = new Outbox<number>((frame, done) => {
      frames.push(frame.messages.length);
      taken = done;
    });
    for (let i = 0; i < 3; i++) outbox.add(i);
    await turn();
    for (let i = 0; i < 5; i++) outbox.add(i);
    await turn();
    outbox.add(9);
    await turn();
    expect(frames).toEqual([3]);
    taken();
    await turn();
    expect(frames).toEqual([3, 6]);
  });

  it("A frame holds a bounded amount of text, and messages beyond it leave in the next one", async () => {
    const frames: number[] = [];
    const outbox = new Outbox<string>((frame, done) => {
      frames.push(frame.messages.length);
      done();
    });
    for (let i = 0; i < 10; i++) expect(outbox.add("x".repeat(300_000))).toBe(true);
    await vi.waitFor(() => expect(frames).toEqual([3, 3, 3, 1]));
  });

  it("Messages weigh as much as their text, wherever it stands in them", () => {
    const outbox = new Outbox<unknown>(() => {}, 1_000_000);
    expect(outbox.add([1, 1, { messages: [{ text: "x".repeat(600_000) }] }])).toBe(true);
    expect(outbox.add([2, 1, { messages: [{ text: "x".repeat(600_000) }] }])).toBe(false);
  });

  it("A frame that the system refuses to send does not end the process, and the next one is sent", async () => {
    const sent: unknown[] = [];
    const outbox = new Outbox<number>((frame, done) => {
      if (frame.messages.includes(1)) throw new RangeError("Invalid string length");
      sent.push(...frame.messages);
      done();
    });
    outbox.add(1);
    await turn();
    outbox.add(2);
    await vi.waitFor(() => expect(sent).toEqual([2]));
  });

  it("Messages are refused when too many wait for a process that does not read", async () => {
    const outbox = new Outbox<number>(() => {}, 1000);
    expect(Array.from({ length: 20 }, (_, i) => outbox.add(i, 100)).filter(Boolean)).toHaveLength(10);
  });

  it("A message without a reply in time fails, and the link is not responsive until something is heard", async () => {
    const silent: HubService = { hear: () => new Promise(() => {}) };
    const [worker] = paired({ silent }, 1, 20);
    expect(worker!.link.responsive).toBe(true);
    await expect(worker!.link.ask("silent", 1)).rejects.toThrow("the supervisor has not replied in time");
    expect(worker!.link.responsive).toBe(false);
    // The link asks by itself: nobody else does while it is not responsive.
    await vi.waitFor(() => expect(worker!.link.responsive).toBe(true));
  });

  it("Messages to a worker that does not read are dropped at a bound, and it joins again when it reads", async () => {
    const joined = new Set<HubWorker>();
    const lost: HubWorker[] = [];
    const news: HubService = {
      hear: (worker) => void joined.add(worker),
      lost: (worker) => {
        lost.push(worker);
        joined.delete(worker);
      },
    };
    const [worker] = paired({ news }, 1);
    const heard: unknown[] = [];
    let resyncs = 0;
    const join = (): void => worker!.link.tell("news", "join");
    worker!.link.serve("news", {
      hear: (data: unknown) => void heard.push(data),
      resync: () => {
        resyncs++;
        join();
      },
    });
    join();
    await vi.waitFor(() => expect(joined.size).toBe(1));
    worker!.stuck = true;
    for (let i = 0; i < 40; i++) {
      for (const one of joined) one.tell(i, 1024 * 1024);
      await turn();
    }
    expect(lost).toHaveLength(1);
    worker!.wake();
    await vi.waitFor(() => expect([resyncs, joined.size]).toEqual([1, 1]));
    for (const one of joined) one.tell("again");
    await vi.waitFor(() => expect(heard.at(-1)).toBe("again"));
    expect(heard.length).toBeLessThan(41);
  });

  it("A service that fails when a worker ends is reported, and the other services learn of the end", async () => {
    const left: string[] = [];
    const failures: unknown[] = [];
    const bad: HubService = {
      hear: () => {},
      leave: () => {
        throw new Error("cannot forget");
      },
    };
    const good: HubService = { hear: () => {}, leave: () => void left.push("good") };
    const [worker] = paired({ bad, good }, 1, undefined, (message, error) => failures.push([message, error]));
    await worker!.link.ask("bad", 1);
    worker!.kill();
    await vi.waitFor(() => expect(left).toEqual(["good"]));
    expect(failures).toEqual([["the state of 'bad' could not forget a worker", new Error("cannot forget")]]);
  });

  it("A question to a worker that has ended resolves without a reply", async () => {
    let asked: Promise<unknown> | null = null;
    const quiz: HubService = {
      hear: (worker) => {
        asked = worker.ask("a question");
      },
    };
    const [worker] = paired({ quiz }, 1);
    worker!.stuck = true;
    worker!.link.tell("quiz", "begin");
    await vi.waitFor(() => expect(asked).not.toBeNull());
    worker!.kill();
    expect(await asked).toBeUndefined();
  });
});
