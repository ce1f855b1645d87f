import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it, vi } from "vitest";
import { UndoLevel } from "../../../src/engines/db/transaction/undo.js";

it("A transaction keeps no objects in memory that nobody else has, and restores the others", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const outer = new UndoLevel(null);
  const inner = new UndoLevel(outer);
  const take = (subject: object) => {
    const before = (subject as { state: number }).state;
    return () => void ((subject as { state: number }).state = before);
  };
  const held = { state: 1 };
  inner.keep(held, take);
  held.state = 2;
  const gone = Array.from({ length: 3000 }, (_, n) => {
    const subject = { state: n };
    inner.keep(subject, take);
    return new WeakRef(subject);
  });
  await vi.waitFor(() => {
    collect();
    expect(gone.filter((each) => each.deref() !== undefined)).toEqual([]);
  }, 60_000);
  inner.release();
  held.state = 3;
  outer.undo();
  expect(held.state).toBe(1);
});
