/**
 * A worker that drives sagas of five steps. Effects go to a table with the key of the step as its primary key, as a service
 * that knows idempotency keys would do. With `KILL_AT=n` the process kills itself at its n-th chance.
 */
import { App } from "../../../src/app/app.js";
import { type SagaDefinition, saga } from "../../../src/patterns/saga/definition.js";
import type { StepContext } from "../../../src/patterns/saga/steps.js";
import { quiet } from "../events/stores.js";

const [, , url, mode] = process.argv as [string, string, string, string];
let chances = Number(process.env["KILL_AT"] ?? 0);
const mayDie = (): void => {
  if (--chances === 0) process.kill(process.pid, "SIGKILL");
};

const app = new App();
app.logger = quiet;
app
  .enableDatabase({ url, poolSize: 5 })
  .enableSaga({ leaseMs: 400, pollMs: 50, backoffMs: 1, maxRetries: 20, timeoutMs: 0 });

async function effect({ key, sagaId }: StepContext<unknown, unknown>, amount: number): Promise<number> {
  mayDie();
  await app.database.execute(
    `with e as (insert into effects (key, saga, amount) values ($1, $2, $3) on conflict do nothing returning key)
     insert into calls (key, was_new) select $1, exists (select from e)`,
    [key, sagaId, amount],
  );
  mayDie();
  return amount;
}

const steps = ["one", "two", "three", "four", "five"] as const;
let definition: SagaDefinition<{ fails: boolean }, object> = saga<{ fails: boolean }>("crash");
for (const name of steps) {
  definition = definition.step(name, {
    action: async (context) => {
      if (name === "five" && context.input.fails) throw Object.assign(new Error("refused"), { name: "StepRefused" });
      return effect(context, 1);
    },
    compensate: (context) => effect(context, -1),
    ...(name === "five" && { retries: 0 }),
  });
}
const handle = app.saga(definition);
await app.start();

// Chances also before and after each transition that is written.
const { SagaStorage } = await import("../../../src/patterns/saga/storage.js");
const { transition } = SagaStorage.prototype;
SagaStorage.prototype.transition = async function (row, change) {
  mayDie();
  const next = await transition.call(this, row, change);
  mayDie();
  return next;
};

if (mode === "start") {
  await handle.start({ fails: false }, { id: "ok" });
  await handle.start({ fails: true }, { id: "fails" });
}
process.stdout.write("ready\n");
