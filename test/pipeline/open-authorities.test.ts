import { describe, expect, it, vi } from "vitest";
import { type EndingListener, OpenAuthorities } from "../../src/pipeline/open-authorities.js";

interface Fake {
  readonly open: OpenAuthorities;
  readonly listeners: EndingListener[];
}

function withStore(): Fake {
  const listeners: EndingListener[] = [];
  return { listeners, open: new OpenAuthorities(() => ({ watch: (listener) => void listeners.push(listener) })) };
}

const valid = (): boolean => true;

describe("what is open with sessions and tokens", () => {
  it("All that is open with an id ends once when the store reports it, and nothing is kept of it", () => {
    const { open, listeners } = withStore();
    const ended: string[] = [];
    const stop = open.watch(["a"], valid, () => ended.push("a1"));
    open.watch(["a"], valid, () => ended.push("a2"));
    open.watch(["b"], valid, () => ended.push("b"))();
    expect(listeners).toHaveLength(1);
    for (const id of ["a", "a", "b"]) listeners[0]!.ended(id);
    stop();
    expect(ended).toEqual(["a1", "a2"]);
    expect(open.isEmpty).toBe(true);
  });

  it("What is open with several ids ends once, with the first of them that ends", () => {
    const { open } = withStore();
    const ended: string[] = [];
    open.watch(["a", "b"], valid, () => ended.push("both"));
    open.watch(["b"], valid, () => ended.push("b"));
    open.end("a");
    open.end("b");
    expect(ended).toEqual(["both", "b"]);
    expect(open.isEmpty).toBe(true);
  });

  it("The store is asked for an id when it is opened and after a gap, and only what is not valid ends", async () => {
    const { open, listeners } = withStore();
    const revoked = new Set(["early"]);
    const ended: string[] = [];
    const ids = ["early", ...Array.from({ length: 250 }, (_, i) => `id${i}`)];
    for (const id of ids)
      open.watch(
        [id],
        async () => !revoked.has(id),
        () => ended.push(id),
      );
    await vi.waitFor(() => expect(ended).toEqual(["early"]));
    revoked.add("id0").add("id249");
    listeners[0]!.gap();
    await vi.waitFor(() => expect(ended).toEqual(["early", "id0", "id249"]));
  });

  it("A store that fails after a gap ends nothing and is asked again until it replies", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { open, listeners } = withStore();
      let reply: () => boolean = valid;
      let isEnded = false;
      open.watch(
        ["a"],
        async () => reply(),
        () => {
          isEnded = true;
        },
      );
      await vi.advanceTimersByTimeAsync(0);
      reply = () => {
        throw new Error("the store is away");
      };
      listeners[0]!.gap();
      await vi.advanceTimersByTimeAsync(5000);
      expect(isEnded).toBe(false);
      reply = () => false;
      await vi.advanceTimersByTimeAsync(1000);
      expect([isEnded, open.isEmpty, vi.getTimerCount()]).toEqual([true, true, 0]);
    } finally {
      vi.useRealTimers();
    }
  });
});
