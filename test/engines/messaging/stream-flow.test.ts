import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import type { KafkaStream } from "../../../src/engines/messaging/kafka/library.js";
import { StreamFlow } from "../../../src/engines/messaging/kafka/stream-flow.js";

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A stream of 100 numbers, which arrive as fast as they are taken, and how often it was made to flow again. */
function numbers() {
  const stream = Readable.from(Array.from({ length: 100 }, (_, at) => at));
  const calls = { resumed: 0, paused: 0 };
  const { resume, pause } = stream;
  stream.resume = () => {
    calls.resumed++;
    return resume.call(stream);
  };
  stream.pause = () => {
    calls.paused++;
    return pause.call(stream);
  };
  return { stream: stream as unknown as KafkaStream & Readable, calls };
}

/** Takes messages up to a number of open ones; those that are open end together, each on its own. */
function consumer(room: number) {
  const { stream, calls } = numbers();
  const taken: number[] = [];
  let open = 0;
  const flow = new StreamFlow(() => open < room);
  stream.on("data", (value: number) => {
    taken.push(value);
    open++;
    flow.update();
  });
  calls.resumed = 0;
  const endAll = () => {
    while (open > 0) {
      open--;
      flow.update();
    }
  };
  return { stream, calls, taken, flow, endAll, open: () => open };
}

async function untilStill(taken: readonly unknown[]): Promise<void> {
  for (let before = -1; before !== taken.length; ) {
    before = taken.length;
    for (let at = 0; at < 20; at++) await turn();
  }
}

describe("the flow of a stream", () => {
  it("A stream is held when there is no room, and all messages come in their order", async () => {
    const { stream, taken, flow, endAll, open } = consumer(10);
    flow.attach(stream);
    while (taken.length < 100) {
      await untilStill(taken);
      expect(open()).toBe(10);
      endAll();
    }
    expect(taken).toEqual(Array.from({ length: 100 }, (_, at) => at));
  });

  it("A stream flows again once for all messages that end in one turn", async () => {
    const { stream, calls, taken, flow, endAll } = consumer(10);
    flow.attach(stream);
    await untilStill(taken);
    expect([taken.length, calls.resumed, calls.paused]).toEqual([10, 1, 1]);
    endAll();
    await untilStill(taken);
    expect([taken.length, calls.resumed, calls.paused]).toEqual([20, 2, 2]);
  });

  it("A stream that is given up does not flow again", async () => {
    const { stream, calls, taken, flow, endAll } = consumer(10);
    flow.attach(stream);
    await untilStill(taken);
    endAll();
    flow.detach();
    await untilStill(taken);
    expect([taken.length, calls.resumed]).toEqual([10, 1]);
  });

  it("A stream is held from the beginning while nothing may come", async () => {
    const { stream, taken, flow } = consumer(0);
    flow.attach(stream);
    await untilStill(taken);
    expect(taken).toEqual([]);
  });
});
