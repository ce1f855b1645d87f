import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../src/engines/db/database.js";
import { openDatabase } from "../../src/engines/db/open-database.js";
import { detectChanges } from "../../src/migrations/autodetector.js";
import { emptyState, type SchemaState } from "../../src/orm/schema/state.js";
import { engines } from "../engines/db/engines.js";
import { isLong } from "../support/long.js";
import fc, { runs } from "../support/properties.js";
import { service } from "../support/service.js";
import { fingerprint } from "./fingerprint.js";
import { randomState } from "./random-states.js";
import { runDown, runUp } from "./run-operations.js";

const renames = [true, false] as const;

/** Asks until there is nothing left to ask: everything that may have been renamed was, or nothing was. */
function detect(from: SchemaState, to: SchemaState, renamed: boolean) {
  const answers = new Map<string, boolean | string>();
  for (;;) {
    const detected = detectChanges(from, { state: to }, answers);
    const [question] = detected.questions;
    if (question === undefined) return detected.operations;
    answers.set(question.key, question.kind.startsWith("rename") ? renamed : false);
  }
}

describe("the changes between any two schemas", () => {
  it.each(renames)("The changes between any two schemas lead from one to the other (renames: %s)", (renamed) => {
    fc.assert(
      fc.property(randomState, randomState, (from, to) => {
        const operations = detect(from, to, renamed);
        expect(operations.reduce((state, operation) => operation.apply(state), from)).toEqual(to);
        expect(detectChanges(to, { state: to })).toEqual({ operations: [], questions: [] });
      }),
      { numRuns: runs(300) },
    );
  });

  describe.each(engines(service("postgres")))("a database ($name)", (engine) => {
    let db: Database;
    let drop: () => Promise<void>;
    beforeAll(async () => {
      const made = await engine.make();
      drop = made.drop;
      db = await openDatabase({ url: made.url, poolSize: 1 });
    });
    afterAll(async () => {
      await db?.close();
      await drop?.();
    });

    const make = (state: SchemaState) => runUp(db, detect(emptyState, state, false), emptyState);
    const clear = async (): Promise<void> => {
      await db.script("DROP SCHEMA public CASCADE; DROP SCHEMA IF EXISTS shop CASCADE; CREATE SCHEMA public");
    };

    it.each(renames)(
      "The changes between any two schemas give the same database as a new one, and can be undone (renames: %s)",
      async (renamed) => {
        await fc.assert(
          fc.asyncProperty(randomState, randomState, async (from, to) => {
            await clear();
            await make(to);
            const wanted = await fingerprint(db);
            await clear();
            await make(from);
            const before = await fingerprint(db);
            const operations = detect(from, to, renamed);
            await runUp(db, operations, from);
            expect(await fingerprint(db)).toEqual(wanted);
            await runDown(db, operations, from);
            expect(await fingerprint(db)).toEqual(before);
          }),
          { numRuns: isLong ? 12 : 5 },
        );
      },
      240_000,
    );
  });
});
