import type { WorkSignals } from "../../../durable/leased-worker.js";
import type { SagaDefinition } from "../definition.js";
import { isFinished, type SagaRow } from "../row.js";
import { DriverReplaced } from "../storage.js";
import { type DriverParts, Execution } from "./execution.js";
import { runBack } from "./run-back.js";
import { runChildren } from "./run-children.js";
import { runParallel } from "./run-parallel.js";
import { runStep } from "./run-step.js";
import { runSleep, runWait } from "./run-wait.js";

/**
 * Moves one saga forward, one transition after the other, until it ends, waits, or another worker has it. Returns true if it
 * may be due again.
 */
export async function drive(
  definition: SagaDefinition,
  row: SagaRow,
  parts: DriverParts,
  signals: WorkSignals,
): Promise<boolean> {
  const execution = new Execution(definition, row, parts, signals);
  try {
    while (await advance(execution)) {
      if (signals.lost.aborted) return true;
      if (signals.draining.aborted && !isAtEnd(execution)) {
        await execution.change({ event: "handed over", wakeAfter: 0 });
        return true;
      }
    }
  } catch (error) {
    if (!(error instanceof DriverReplaced)) throw error;
    parts.logger.warn("a saga is driven by another worker now", { saga: row.name, id: row.id });
  }
  return !isFinished(execution.row.status);
}

/** Makes one step; false when there is nothing more to do now. */
async function advance(execution: Execution): Promise<boolean> {
  const { status, step } = execution.row;
  if (status === "compensating") return runBack(execution);
  if (status !== "running") return false;
  const node = execution.definition.units[step];
  switch (node?.kind) {
    case undefined:
      await execution.change({ event: "completed", status: "completed", error: null });
      return false;
    case "step":
      return runStep(execution, node);
    case "parallel":
      return runParallel(execution, node);
    case "wait":
      return runWait(execution, node);
    case "sleep":
      return runSleep(execution, node);
    case "child":
      return runChildren(execution, node);
  }
}

/** The last step is done: to complete the saga is as cheap as to hand it over. */
function isAtEnd({ row, definition }: Execution): boolean {
  return row.status === "running" && row.step >= definition.units.length;
}
