import { expect, it } from "vitest";
import { ServerCursor } from "../../../src/engines/db/cursor.js";

/** A cursor over numbers from 1 to `count`, and the statements that it sent. */
function numbers(count: number, batch: number): { cursor: ServerCursor<{ n: number }>; sent: string[] } {
  const sent: string[] = [];
  let at = 0;
  const queries = {
    cursorName: () => "c1",
    execute: async (text: unknown) => {
      sent.push(String(text));
      return undefined as never;
    },
    fetch: async (text: unknown) => {
      sent.push(String(text));
      const wanted = Number(/forward (\d+)/.exec(String(text))![1]);
      const rows = Array.from({ length: Math.min(wanted, count - at) }, () => ({ n: ++at }));
      return rows as never;
    },
  };
  const open = async () => ({ queries, close: async () => void sent.push("end") });
  return { cursor: new ServerCursor({ open, text: "select n", values: [], options: { batch } }), sent };
}

it("Rows of a cursor come once and in order, one by one or several at a time", async () => {
  const { cursor, sent } = numbers(9, 4);
  const got: unknown[] = [(await cursor.next()).value.n];
  got.push(...(await cursor.read(2)).map(({ n }) => n));
  got.push((await cursor.next()).value.n);
  got.push(...(await cursor.read(3)).map(({ n }) => n));
  for await (const { n } of cursor) got.push(n);
  expect(got).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(sent).toEqual([
    "declare c1 no scroll cursor for select n",
    "fetch forward 4 from c1",
    "fetch forward 3 from c1",
    "fetch forward 4 from c1",
    "close c1",
    "end",
  ]);
});
