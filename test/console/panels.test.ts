import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LivePanels } from "../../src/console/panels.js";

describe("panels of the live page", () => {
  it("A panel that fails or never ends says so, and the others are shown", async () => {
    const panels = new LivePanels();
    panels.add("works", () => ({ title: "Works", facts: [{ label: "Count", value: 1 }] }));
    panels.add("throws", () => {
      throw new Error("no such table");
    });
    panels.add("hangs", () => new Promise(() => {}));
    const [works, throws, hangs] = await panels.read();
    expect(works).toMatchObject({ title: "Works", facts: [{ label: "Count", value: 1 }] });
    expect(throws).toEqual({
      title: "throws",
      facts: [{ label: "Not available", value: "no such table", tone: "bad" }],
    });
    expect(hangs!.facts![0]!.value).toBe("no response within a second");
  });

  it("A panel that hangs is not read again for each look at the page", async () => {
    const panels = new LivePanels();
    let readings = 0;
    let end: (panel: { title: string }) => void = () => {};
    panels.add("hangs", () => {
      readings++;
      return new Promise((resolve) => {
        end = resolve;
      });
    });
    await panels.read();
    await panels.read();
    expect(readings).toBe(1);
    end({ title: "Late" });
    expect(await panels.read()).toMatchObject([{ title: "Late" }]);
    await panels.read();
    expect(readings).toBe(2);
  });

  it("A panel that has hung for half a minute is read again", async () => {
    const panels = new LivePanels();
    let readings = 0;
    panels.add("hangs", () => (++readings === 1 ? new Promise(() => {}) : { title: "Back" }));
    const now = vi.spyOn(performance, "now");
    onTestFinished(() => now.mockRestore());
    now.mockReturnValue(1000);
    await panels.read();
    now.mockReturnValue(31_000);
    expect(await panels.read()).toMatchObject([{ title: "hangs" }]);
    expect(readings).toBe(1);
    now.mockReturnValue(31_001);
    expect(await panels.read()).toMatchObject([{ title: "Back" }]);
  });

  it("A panel sends at most fifty rows, and long texts are cut", async () => {
    const panels = new LivePanels();
    const rows = Array.from({ length: 1000 }, (_, i) => [i, "x".repeat(10_000)]);
    panels.add("large", () => ({
      title: "Large",
      tables: [{ title: "All", columns: ["n", "text"], rows, empty: "" }],
    }));
    const [large] = await panels.read();
    expect(large!.tables![0]!.rows).toHaveLength(50);
    expect(large!.tables![0]!.rows[0]![1]).toHaveLength(501);
  });

  it("Pages that ask at the same time share one reading", async () => {
    const panels = new LivePanels();
    let readings = 0;
    panels.add("counted", async () => ({ title: `Reading ${++readings}` }));
    await Promise.all([panels.read(), panels.read(), panels.read()]);
    expect(readings).toBe(1);
    await panels.read();
    expect(readings).toBe(2);
  });

  it("A later panel of the same name takes the place of the earlier one", async () => {
    const panels = new LivePanels();
    panels.add("a", () => ({ title: "First" }));
    panels.add("a", () => ({ title: "Second" }));
    expect((await panels.read()).map((panel) => panel.title)).toEqual(["Second"]);
  });
});
