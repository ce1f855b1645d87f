import { expect, it } from "vitest";
import { Lanes } from "../../../src/engines/messaging/consume/lanes.js";
import fc from "../../support/properties.js";
import { gate } from "./harness.js";

interface Task {
  readonly key: string | null;
  work(task: Task): Promise<void>;
}

const keyOf = ({ key }: { readonly key: string | null }): string | null => key;

const started = (limit: number) => {
  const lanes = new Lanes<Task>(limit, keyOf, (task) => void task.work(task).finally(() => lanes.end(task)));
  return { lanes, add: (key: string | null, work: Task["work"]) => lanes.add({ key, work }) };
};

/** Tasks that run until their end is told. */
const named = (limit: number) => {
  const started: string[] = [];
  const known = new Map<string, { readonly name: string; readonly key: string | null }>();
  const lanes = new Lanes<{ readonly name: string; readonly key: string | null }>(limit, keyOf, ({ name }) => {
    started.push(name);
  });
  const add = (name: string, key: string | null) => {
    known.set(name, { name, key });
    lanes.add(known.get(name)!);
  };
  return { lanes, started, add, end: (name: string) => lanes.end(known.get(name)!) };
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
        const run = async (task: Task) => {
          if (key !== null) {
            expect(busy.has(key)).toBe(false);
            busy.add(key);
            order.set(key, [...(order.get(key) ?? []), index]);
          }
          expect(++inside).toBeLessThanOrEqual(limit);
          for (let turn = 0; turn < turns; turn++) await null;
          if (outside) {
            inside--;
            await lanes.withoutSlot(task, async () => {
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
  add("a", async (task) => {
    log.push("a1 begins");
    await lanes.withoutSlot(task, () => pause.opened);
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
  const { lanes, started, add, end } = named(2);
  add("a", "k");
  add("b", null);
  add("c", "k");
  add("d", null);
  expect(started).toEqual(["a", "b"]);
  lanes.pause();
  let quiet = false;
  const ended = lanes.quiet().then(() => {
    quiet = true;
  });
  end("a");
  await Promise.resolve();
  expect([quiet, lanes.running]).toEqual([false, 1]);
  end("b");
  await ended;
  add("e", null);
  expect(started).toEqual(["a", "b"]);
  lanes.resume();
  expect(started).toEqual(["a", "b", "d", "c"]);
  end("d");
  end("c");
  end("e");
  await lanes.idle();
  expect(started).toEqual(["a", "b", "d", "c", "e"]);
});

it("Lanes that hold some tasks run the others, and tell when none of those that are held runs", async () => {
  const { lanes, started, add, end } = named(2);
  add("held 1", "k");
  add("free 1", null);
  add("held 2", "k");
  add("held 3", null);
  const isHeld = ({ name }: { readonly name: string }) => name.startsWith("held");
  lanes.pause(isHeld);
  let quiet = false;
  const ended = lanes.quiet(isHeld).then(() => {
    quiet = true;
  });
  add("free 2", null);
  end("free 1");
  await Promise.resolve();
  expect([started, quiet]).toEqual([["held 1", "free 1", "free 2"], false]);
  end("held 1");
  await ended;
  add("free 3", null);
  expect(started).toEqual(["held 1", "free 1", "free 2", "free 3"]);
  end("free 2");
  end("free 3");
  lanes.resume();
  expect(started.slice(4)).toEqual(["held 3", "held 2"]);
});
