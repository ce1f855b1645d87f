import { expect, it } from "vitest";
import { Lanes } from "../../../src/engines/messaging/consume/lanes.js";
import fc from "../../support/properties.js";
import { gate } from "./harness.js";

interface Task {
  readonly key: string | null;
  work(): Promise<void>;
}

const keyOf = ({ key }: { readonly key: string | null }): string | null => key;

const started = (limit: number) => {
  const lanes = new Lanes<Task>(limit, keyOf, (task) => void task.work().finally(() => lanes.end(task)));
  return { lanes, add: (key: string | null, work: Task["work"]) => lanes.add({ key, work }) };
};

const tasks = fc.array(
  fc.record({ key: fc.constantFrom("a", "b", "c", null), turns: fc.nat(3), outside: fc.boolean() }),
  { maxLength: 40 },
);

it("Tasks of one key never overlap and keep their order, and no more run at a time than the limit", async () => {
  await fc.assert(
    fc.asyncProperty(tasks, fc.integer({ min: 1, max: 5 }), async (list, limit) => {
      const { lanes, add } = started(limit);
      const order = new Map<string, number[]>();
      const busy = new Set<string>();
      let inside = 0;
      list.forEach(({ key, turns, outside }, index) => {
        const run = async () => {
          if (key !== null) {
            expect(busy.has(key)).toBe(false);
            busy.add(key);
            order.set(key, [...(order.get(key) ?? []), index]);
          }
          expect(++inside).toBeLessThanOrEqual(limit);
          for (let turn = 0; turn < turns; turn++) await null;
          if (outside) {
            inside--;
            await lanes.withoutSlot(async () => {
              await null;
            });
            expect(++inside).toBeLessThanOrEqual(limit);
          }
          inside--;
          if (key !== null) busy.delete(key);
        };
        add(key, run);
      });
      await lanes.idle();
      expect(lanes.running).toBe(0);
      for (const indexes of order.values()) expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
      expect([...order.values()].flat()).toHaveLength(list.filter(({ key }) => key !== null).length);
    }),
  );
});

it("A task that waits outside leaves its room to tasks of other keys, but not to those of its own key", async () => {
  const { lanes, add } = started(1);
  const log: string[] = [];
  const pause = gate();
  add("a", async () => {
    log.push("a1 begins");
    await lanes.withoutSlot(() => pause.opened);
    log.push("a1 ends");
  });
  add("a", async () => void log.push("a2"));
  const other = gate();
  add("b", async () => {
    log.push("b1");
    other.open();
  });
  await other.opened;
  expect(log).toEqual(["a1 begins", "b1"]);
  pause.open();
  await lanes.idle();
  expect(log).toEqual(["a1 begins", "b1", "a1 ends", "a2"]);
});

it("Lanes that pause start nothing, tell when all that runs has ended, and go on in the old order", async () => {
  const started: string[] = [];
  const lanes = new Lanes<{ readonly name: string; readonly key: string | null }>(2, keyOf, ({ name }) => {
    started.push(name);
  });
  for (const [name, key] of [
    ["a", "k"],
    ["b", null],
    ["c", "k"],
    ["d", null],
  ] as const)
    lanes.add({ name, key });
  expect(started).toEqual(["a", "b"]);
  lanes.pause();
  let quiet = false;
  const ended = lanes.quiet().then(() => {
    quiet = true;
  });
  lanes.end({ name: "", key: "k" });
  await Promise.resolve();
  expect([quiet, lanes.running]).toEqual([false, 1]);
  lanes.end({ name: "", key: null });
  await ended;
  lanes.add({ name: "e", key: null });
  expect(started).toEqual(["a", "b"]);
  lanes.resume();
  expect(started).toEqual(["a", "b", "d", "c"]);
  lanes.end({ name: "", key: null });
  lanes.end({ name: "", key: "k" });
  lanes.end({ name: "", key: null });
  await lanes.idle();
  expect(started).toEqual(["a", "b", "d", "c", "e"]);
});
