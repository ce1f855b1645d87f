import type { Database, Queries } from "../../src/engines/db/database.js";
import type { Operation, Step } from "../../src/migrations/operation.js";
import type { SchemaState } from "../../src/orm/schema/state.js";

/** Runs operations as one migration: in a transaction, unless one of them needs to be outside. Gives the state after them. */
export async function runUp(db: Database, operations: readonly Operation[], from: SchemaState): Promise<SchemaState> {
  let state = from;
  await together(db, operations, async (queries) => {
    for (const operation of operations) {
      await runSteps(queries, operation.up(state));
      state = operation.apply(state);
    }
  });
  return state;
}

/** Undoes them, the last one first. */
export async function runDown(db: Database, operations: readonly Operation[], from: SchemaState): Promise<void> {
  const states = [from];
  for (const operation of operations) states.push(operation.apply(states.at(-1)!));
  await together(db, operations, async (queries) => {
    for (const [index, operation] of [...operations.entries()].reverse()) {
      const steps = operation.down(states[index]!);
      if (steps === undefined) throw new Error(`${operation.description} cannot be undone`);
      await runSteps(queries, steps);
    }
  });
}

function together(
  db: Database,
  operations: readonly Operation[],
  run: (queries: Queries) => Promise<void>,
): Promise<void> {
  return operations.every((operation) => operation.transactional) ? db.transaction(run) : db.session(run);
}

async function runSteps(db: Queries, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    if (typeof step === "function") await step(db);
    else await db.script(step).catch((error: Error) => fail(step, error));
  }
}

function fail(statement: string, error: Error): never {
  throw new Error(`${statement}\n${error.message}`, { cause: error });
}
