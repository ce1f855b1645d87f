import { describe, expect, it } from "vitest";
import { Silence } from "../../../src/server/silence.js";

describe("Silence", () => {
  it("counts a worker as silent after some ticks without a sign, as stuck after more, and as neither once it is heard", () => {
    const silence = new Silence<string>(2, 4);
    silence.heard("a");
    silence.heard("b");
    const seen = Array.from({ length: 4 }, () => {
      silence.heard("b");
      const { changed, stuck } = silence.tick();
      return { changed, stuck, silent: silence.silent };
    });
    expect(seen).toEqual([
      { changed: false, stuck: [], silent: [] },
      { changed: false, stuck: [], silent: [] },
      { changed: true, stuck: [], silent: ["a"] },
      { changed: false, stuck: ["a"], silent: ["a"] },
    ]);
    silence.heard("a");
    expect(silence.tick()).toEqual({ changed: true, stuck: [] });
    expect(silence.silent).toEqual([]);
  });

  it("does not watch a worker before its first sign, nor after it was forgotten", () => {
    const silence = new Silence<string>(1, 2);
    silence.heard("a");
    silence.forget("a");
    for (let i = 0; i < 5; i++) expect(silence.tick()).toEqual({ changed: false, stuck: [] });
  });
});
