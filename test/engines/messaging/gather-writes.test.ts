import { Writable } from "node:stream";
import { expect, it } from "vitest";
import { gatherWrites } from "../../../src/engines/messaging/amqp/gather-writes.js";

it("Everything that is written to a connection in one turn goes to the system in one call, in its order", async () => {
  const calls: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      calls.push(String(chunk));
      done();
    },
    writev(chunks, done) {
      calls.push(chunks.map(({ chunk }) => String(chunk)).join());
      done();
    },
  });
  gatherWrites({ connection: { stream } });
  for (const text of ["a", "b", "c"]) stream.write(text);
  expect(calls).toEqual([]);
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls).toEqual(["a,b,c"]);
  stream.write("d");
  // The end does not wait for the turn.
  stream.end("e");
  await new Promise((resolve) => stream.once("finish", resolve));
  expect(calls).toEqual(["a,b,c", "d,e"]);
});

it("A connection whose socket is not known is left as it is", () => {
  const stream = { write: () => true };
  const { write } = stream;
  for (const model of [{}, { connection: {} }, { connection: { stream } }]) gatherWrites(model);
  expect(stream.write).toBe(write);
});
