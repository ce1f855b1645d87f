/**
 * A client starts sagas until each start is confirmed, and sends the signal that they wait for. A worker drives them: five
 * steps, two of them in parallel, a wait, a sleep and a child. Effects go to a table with the key of the step as its primary
 * key, as a service that knows idempotency keys does. Of the sagas that are refused some have had the effect before.
 */
import { saga } from "../../../src/patterns/saga/definition.ts";
import { StepRefused, StepUnknown } from "../../../src/patterns/saga/steps.ts";
import { createApp, mayBlock, pause, persist, repeat, role, start, times, write } from "./pattern.mjs";

const app = createApp();
app.enableSaga({ ...times, backoff: "5ms", maxRetries: 1000, timeoutMs: 0 });

/** An action that has lost its connection cannot know if its effect is there. It says so, before its next attempt. */
async function effect({ key, sagaId, attempt }, amount) {
  write("begun", { key, attempt });
  if (Math.random() < 0.02) throw new Error("by chance");
  mayBlock(0.002);
  try {
    await app.database.execute("insert into effects (key, saga, amount) values ($1, $2, $3) on conflict do nothing", [
      key,
      sagaId.split("/")[0],
      amount,
    ]);
  } catch (cause) {
    throw new StepUnknown("no response", { cause });
  }
  if (Math.random() < 0.02) throw new StepUnknown("by chance");
  if (Math.random() < 0.3) await pause(Math.random() * 10);
  return amount;
}

const step = (refusedBy, options = {}) => ({
  compensateRetries: 1000,
  compensate: (context) => effect(context, -1),
  async action(context) {
    if (context.input?.refusedBy !== refusedBy) return effect(context, 1);
    if (!context.input.unsure || context.attempt > 2) throw new StepRefused("refused");
    await effect(context, 1);
    throw new StepUnknown("as its input says");
  },
  ...options,
});
const part = saga("part").step("four", step("four"));
const definition = saga("chaos")
  .step("one", step("one"))
  .parallel({ two: step("two"), three: step("three", { timeout: "500ms" }) })
  // The signal and the end of the wait come at about the same time.
  .waitFor("go", { timeout: "300ms", optional: true })
  .child("part", part, ({ input }) => input)
  .sleep("rest", "20ms")
  .step("five", step("five"));
const handle = app.saga(definition);
await start(app);

if (role === "client") {
  const places = ["one", "two", "three", "four", "five"];
  await repeat(3, async (loop, number) => {
    const id = `${process.pid}-${loop}-${number}`;
    const refusedBy = number % 3 === 0 ? places[Math.floor(Math.random() * places.length)] : null;
    const unsure = Math.random() < 0.5;
    if ((await persist(() => handle.start({ refusedBy, unsure }, { id }))) !== undefined)
      write("sent", { id, refusedBy });
    await pause(Math.random() * 300);
    await app.sagas.signal(id, "go", number, { key: "go" }).catch(() => {});
    await pause(Math.random() * 100);
  });
}
