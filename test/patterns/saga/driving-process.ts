/**
 * A worker that drives sagas with steps, steps in parallel, a wait, a sleep, a child, a list and a loop. Effects go to a table
 * with the key of the step as its primary key, as a service that knows idempotency keys would do. The last step of a saga that
 * fails is refused, or has its effect and cannot know it.
 */
import { App } from "../../../src/app/app.js";
import { saga } from "../../../src/patterns/saga/definition.js";
import { type StepContext, type StepOptions, StepRefused, StepUnknown } from "../../../src/patterns/saga/steps.js";
import { quiet } from "../events/stores.js";
import { beat, mayDie, mayDieAround } from "../may-die.js";

const [, , url, mode] = process.argv as [string, string, string, string];

const app = new App();
app.logger = quiet;
app
  .enableDatabase({ url, poolSize: 5 })
  .enableSaga({ lease: "400ms", poll: "50ms", backoff: "1ms", maxRetries: 1000, maxLost: 1000, timeoutMs: 0 });

async function effect({ key, sagaId }: StepContext<unknown, unknown>, amount: number): Promise<number> {
  mayDie();
  await app.database.execute(
    `with e as (insert into effects (key, saga, amount) values ($1, $2, $3) on conflict do nothing returning key)
     insert into calls (key, was_new) select $1, exists (select from e)`,
    [key, sagaId.split("/")[0], amount],
  );
  mayDie();
  return amount;
}

const compensate = (context: StepContext<unknown, unknown>): Promise<number> => effect(context, -1);
const step: StepOptions<unknown, unknown, number> = { action: (context) => effect(context, 1), compensate };
const child = saga("crash child").step("six", step).sleep("nap", "1ms").step("seven", step);
const item = saga("crash item").step("eight", step);
const [listed, rounds] = [3, 2];
const definition = saga<{ fails: boolean; unsure?: boolean }>("crash")
  .step("one", step)
  .parallel({ two: step, three: step })
  .step("four", {
    compensate,
    // The signal is sent before the wait for it begins. Sent again after a crash, it is the same one.
    async action(context) {
      await app.sagas.signal(context.sagaId, "go", context.key, { key: "four" });
      return effect(context, 1);
    },
  })
  .waitFor("go", { timeout: "10m" })
  .sleep("rest", "1ms")
  .child("part", child, null)
  .each("list", item, Array(listed).fill(null))
  .repeat("loop", item, { input: () => null, until: ({ round }) => round === rounds })
  .step("five", {
    compensate,
    retries: 0,
    async action(context) {
      if (context.input.fails && context.input.unsure) {
        await effect(context, 1);
        throw new StepUnknown("no response");
      }
      if (context.input.fails) throw new StepRefused("refused");
      return effect(context, 1);
    },
  });
const handle = app.saga(definition);
await app.start();

// Chances also before and after each transition that is written, in its transaction and after its commit.
const { SagaStorage } = await import("../../../src/patterns/saga/storage.js");
const { WaitStorage } = await import("../../../src/patterns/saga/wait-storage.js");
mayDieAround(SagaStorage.prototype, ["transition"]);
mayDieAround(WaitStorage.prototype, ["take", "deliver", "begin", "undo", "finishChild", "wakeParent"]);

if (mode === "start") {
  await handle.start({ fails: false }, { id: "ok" });
  await handle.start({ fails: true }, { id: "fails" });
  await handle.start({ fails: true, unsure: true }, { id: "unsure" });
}
await beat(app.database);
