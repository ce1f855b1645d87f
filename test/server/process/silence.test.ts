import { describe, expect, it } from "vitest";
import { Silence } from "../../../src/server/process/silence.js";

describe("Silence", () => {
  it("A worker is silent after some ticks without a sign, stuck after more, and neither once it is heard", () => {
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

  it("A worker that was forgotten is not watched", () => {
    const silence = new Silence<string>(1, 2);
    silence.heard("a");
    silence.forget("a");
    for (let i = 0; i < 5; i++) expect(silence.tick()).toEqual({ changed: false, stuck: [] });
  });
});
