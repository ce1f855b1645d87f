import { attempted } from "../../../durable/attempt.js";
import { errorText } from "../../../durable/texts.js";
import { backoff } from "../../../kit/time/backoff.js";
import type { SagaNode } from "../definition.js";
import type { Step } from "../steps.js";
import { type Execution, longestPause } from "./execution.js";
import { undoChildren } from "./run-children.js";

/** Undoes the newest unit that had an effect, or may have had one. Returns true if the saga continues at once. */
export async function runBack(execution: Execution): Promise<boolean> {
  const { units } = execution.definition;
  const { row } = execution;
  // One that was completed begins behind its last unit.
  let unit = Math.min(row.step, units.length - 1);
  while (unit >= 0 && !isToUndo(execution, units[unit]!, unit)) unit--;
  const node = units[unit];
  if (node === undefined) {
    await execution.change({ event: "compensated", status: "compensated", step: -1 });
    execution.parts.logger.warn("a saga was compensated", { saga: row.name, id: row.id, error: row.error });
    return false;
  }
  if (unit !== row.step) execution.note({ event: "compensation continues", step: unit, attempt: 0 });
  return node.kind === "child" ? undoChildren(execution, node) : undoStep(execution, stepOf(node, unit)!, unit);
}

async function undoStep(execution: Execution, step: Step, unit: number): Promise<boolean> {
  const { settings, logger } = execution.parts;
  const { row } = execution;
  const number = row.attempt + 1;
  const log = { logStep: step.name, logAttempt: number };
  const park = async (error: string): Promise<false> => {
    logger.error("a saga is parked: a compensation failed", { saga: row.name, id: row.id, step: step.name, error });
    await execution.change({ event: "parked", status: "parked", inflight: [], logError: error, wakeAfter: 0, ...log });
    return false;
  };
  if (execution.isDeadly) return park("the compensation did not end");
  await execution.change({ event: "compensation started", attempt: number, inflight: [step.name], ...log });
  const span = execution.span(step.name, number, "compensate");
  const outcome = await attempted(
    (current) => {
      const result = row.results[step.name] as never;
      const context = Object.assign(execution.stepContext(step, number, current, "compensate"), { result });
      const run = (): unknown => step.compensate!(context);
      return span === null ? run() : span.run(run);
    },
    step.timeoutMs ?? Infinity,
    { lost: execution.signals.lost },
  );
  span?.end("error" in outcome ? outcome.error : undefined);
  if (outcome.kind === "lost") return false;
  if (outcome.kind === "done") {
    execution.note({ event: "compensation done", step: unit - 1, attempt: 0, inflight: [], ...log });
    return true;
  }
  const error = errorText(outcome.error);
  const failures = number - row.lost;
  if (failures > step.compensateRetries) return park(error);
  const wakeAfter = backoff(failures - 1, settings.backoffMs, longestPause);
  await execution.change({ event: "compensation failed", inflight: [], logError: error, wakeAfter, ...log });
  return false;
}

/** Steps that are done, or whose effect is not known, are undone if they can be. */
function isToUndo({ row }: Execution, node: SagaNode, unit: number): boolean {
  const name = node.names[unit - node.at]!;
  if (!Object.hasOwn(row.results, name) && !row.unknown.includes(name)) return false;
  return node.kind === "child" || stepOf(node, unit)?.compensate !== undefined;
}

function stepOf(node: SagaNode, unit: number): Step | undefined {
  if (node.kind === "step") return node.step;
  return node.kind === "parallel" ? node.steps[unit - node.at] : undefined;
}
