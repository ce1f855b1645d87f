import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Reopening } from "../../src/engines/reopening.js";
import type { Logger } from "../../src/kit/logger.js";

const lines: string[] = [];
const note = (message: string): void => void lines.push(message);
const logger: Logger = { debug() {}, info: note, warn: note, error: note, child: () => logger };

beforeEach(() => {
  lines.length = 0;
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A connection that is refused until `refused` is null, with the times of the attempts in milliseconds. */
function connection(refused: unknown): {
  attempts: number[];
  refused: unknown;
  open(): Promise<void>;
  close(): Promise<void>;
} {
  const began = Date.now();
  return {
    attempts: [],
    refused,
    async open() {
      this.attempts.push(Date.now() - began);
      if (this.refused !== null) throw this.refused;
    },
    close: async () => {},
  };
}

describe("the attempts to open a lost connection", () => {
  it.each([
    ["half of a pause at least", 1, [125, 375, 875, 1875, 3875, 7875, 15375, 22875]],
    ["a whole pause at most", 0, [250, 750, 1750, 3750, 7750, 15750, 30750, 45750]],
  ])(
    "Attempts to open a lost connection come after pauses that double up to 15 seconds: %s",
    async (_, random, times) => {
      vi.spyOn(Math, "random").mockReturnValue(random);
      const away = connection(new Error("away"));
      const reopening = new Reopening("probe", logger, away);
      reopening.begin(new Error("reset"));
      await vi.advanceTimersByTimeAsync(times.at(-1)!);
      expect(away.attempts).toEqual(times);
      reopening.end();
    },
  );

  it("Attempts begin with short pauses again after the connection was open", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const link = connection(new Error("away"));
    const reopening = new Reopening("probe", logger, link);
    reopening.begin(new Error("reset"));
    await vi.advanceTimersByTimeAsync(750);
    link.refused = null;
    await vi.advanceTimersByTimeAsync(1000);
    expect(() => reopening.check()).not.toThrow();
    reopening.begin(new Error("reset"));
    await vi.advanceTimersByTimeAsync(250);
    expect(link.attempts).toEqual([250, 750, 1750, 2000]);
    expect(lines.filter((line) => line === "the probe is connected again")).toHaveLength(2);
  });

  it("Attempts end with the application, also one that fails afterwards", async () => {
    let refuse = (): void => {};
    const reopening = new Reopening("probe", logger, {
      open: () => new Promise((_, reject) => (refuse = () => reject(new Error("away")))),
      close: async () => {},
    });
    reopening.begin(new Error("reset"));
    await vi.advanceTimersByTimeAsync(250);
    reopening.end();
    refuse();
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("Attempts leave no timer behind when the application ends in a pause", () => {
    const reopening = new Reopening("probe", logger, connection(new Error("away")));
    reopening.begin(new Error("reset"));
    expect(vi.getTimerCount()).toBe(1);
    reopening.end();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("Attempts do not begin after the end of the application", () => {
    const reopening = new Reopening("probe", logger, connection(null));
    reopening.end();
    reopening.begin(new Error("reset"));
    expect([vi.getTimerCount(), lines]).toEqual([0, []]);
  });
});

describe("a connection that opens after the end", () => {
  it("A connection that opens after the end is closed, and a failure to close it is not reported", async () => {
    let arrive = (): void => {};
    let closed = 0;
    const reopening = new Reopening("probe", logger, {
      open: () => new Promise((resolve) => (arrive = resolve)),
      close: async () => {
        closed++;
        throw new Error("reset");
      },
    });
    reopening.begin(new Error("reset"));
    await vi.advanceTimersByTimeAsync(250);
    reopening.end();
    arrive();
    await vi.advanceTimersByTimeAsync(0);
    expect([closed, lines]).toEqual([1, ["the connection to the probe is lost"]]);
  });
});

describe("the check of a lost connection", () => {
  it("The check of a lost connection throws the reason of the loss, then that of the last attempt", async () => {
    const reopening = new Reopening("probe", logger, connection(new Error("refused")));
    reopening.begin(new Error("reset"));
    expect(() => reopening.check()).toThrow("reset");
    await vi.advanceTimersByTimeAsync(250);
    expect(() => reopening.check()).toThrow("refused");
    reopening.end();
  });

  it("The check of a lost connection throws where no reason was given", () => {
    const reopening = new Reopening("probe", logger, connection(null));
    reopening.begin(undefined);
    expect(() => reopening.check()).toThrow("the connection is lost");
    reopening.end();
  });
});
