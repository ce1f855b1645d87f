import { type AttemptOutcome, attempted, WorkTimeout } from "../../../durable/attempt.js";
import { watched } from "../../../durable/pulse.js";
import { errorText } from "../../../durable/texts.js";
import { isInstance } from "../../../errors/describe.js";
import { backoff } from "../../../kit/time/backoff.js";
import type { SagaNode } from "../definition.js";
import { type Step, StepRefused, StepUnknown } from "../steps.js";
import { type Execution, longestPause, plainResult, sagaName, withName, without } from "./execution.js";

/** The error of a step whose result cannot be stored. */
export function notJson({ name }: Step): string {
  return `the result of the step '${name}' is not a JSON value`;
}

/** Runs one attempt of a step. Returns true if the saga continues at once. */
export async function runStep(execution: Execution, node: SagaNode & { readonly kind: "step" }): Promise<boolean> {
  const { step } = node;
  const { row } = execution;
  const { settings } = execution.parts;
  const end = execution.end;
  if (end !== null) return execution.turnBack(node, end);
  const number = row.attempt + 1;
  const retries = step.retries ?? settings.maxRetries;
  // A driver that was replaced has ended it.
  if (Object.hasOwn(row.results, step.name)) {
    const unknown = without(row.unknown, step.name);
    execution.note({
      event: "action was done",
      step: node.at + 1,
      attempt: 0,
      unknown,
      error: null,
      logStep: step.name,
    });
    return true;
  }
  if (execution.isDeadly) return execution.turnBack(node, row.error ?? "the step did not end");
  const log = { logStep: step.name, logAttempt: number };
  await execution.change({ event: "action started", attempt: number, inflight: [step.name], ...log });
  const outcome = await runAction(execution, step, number, node.at);
  if (outcome.kind === "lost") return false;
  if (outcome.kind === "done") {
    const result = plainResult(outcome.result);
    if (result === undefined) {
      const error = notJson(step);
      return execution.turnBack(node, error, { unknown: [step.name], event: "action failed", ...log });
    }
    execution.note({
      event: "action done",
      step: node.at + 1,
      attempt: 0,
      inflight: [],
      unknown: without(execution.row.unknown, step.name),
      results: { [step.name]: result.value },
      error: null,
      ...log,
    });
    return true;
  }
  const error = errorText(outcome.error);
  const unknown = outcome.kind === "unknown";
  const event = eventOf(outcome);
  const timedOut = event === "action timed out";
  // Without a time of the step it was the time of the saga.
  const over = execution.end !== null || (timedOut && execution.row.left !== null && step.timeoutMs === undefined);
  // Attempts whose driver was lost are not failures of the step.
  const failures = number - row.lost;
  if (over || failures > retries || isInstance(outcome.error, StepRefused)) {
    return execution.turnBack(node, error, { unknown: unknown ? [step.name] : [], event, ...log });
  }
  await execution.change({
    event,
    inflight: [],
    unknown: unknown ? withName(execution.row.unknown, step.name) : execution.row.unknown,
    error,
    logError: error,
    // The end of its time is noticed in time, too.
    wakeAfter: Math.min(backoff(failures - 1, settings.backoffMs, longestPause), Math.max(execution.left, 0)),
    ...log,
  });
  return false;
}

/** The line of the log after an attempt without a result. */
export function eventOf(outcome: AttemptOutcome): "action failed" | "action timed out" | "action unknown" {
  if (outcome.kind !== "unknown") return "action failed";
  return isInstance(outcome.error, WorkTimeout) ? "action timed out" : "action unknown";
}

/** Runs the action once, in its own span. */
export async function runAction(execution: Execution, step: Step, number: number, at: number): Promise<AttemptOutcome> {
  const span = execution.span(step.name, number, "action");
  const outcome = await attempted(
    (current) => {
      const context = execution.stepContext(step, number, current, "action");
      const run = (): unknown =>
        watched(
          () => `${sagaName(execution.row)}: ${step.name}`,
          () => step.action(context),
        );
      return span === null ? run() : span.run(run);
    },
    Math.min(step.timeoutMs ?? Infinity, execution.left),
    execution.signals,
    (result) => execution.keepResult(at, step.name, result),
  );
  span?.end("error" in outcome ? outcome.error : undefined);
  if (outcome.kind === "failed" && isInstance(outcome.error, StepUnknown)) return { ...outcome, kind: "unknown" };
  return outcome;
}
