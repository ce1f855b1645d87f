import { errorText } from "../../../durable/texts.js";
import { isInstance } from "../../../errors/describe.js";
import { backoff } from "../../../kit/time/backoff.js";
import { sleep } from "../../../kit/time/within.js";
import type { SagaNode } from "../definition.js";
import { type Step, StepRefused } from "../steps.js";
import { type Execution, longestPause, plainResult, withName, without } from "./execution.js";
import { eventOf, notJson, runAction } from "./run-step.js";

/** The end of one branch: it is done, it failed for good, or this process does not continue with it. */
type BranchEnd = { readonly kind: "done" | "left" } | { readonly kind: "failed"; readonly error: string };

/**
 * Runs the steps of a parallel part that are not done yet, at the same time. Each has its own attempts. If one fails for
 * good, no further attempt begins, and those in progress end first: a compensation must not overtake an action.
 */
export async function runParallel(
  execution: Execution,
  node: SagaNode & { readonly kind: "parallel" },
): Promise<boolean> {
  const end = execution.end;
  if (end !== null) return execution.turnBack(node, end);
  const open = node.steps.filter(({ name }) => !Object.hasOwn(execution.row.results, name));
  const group = { failed: false };
  // All are awaited, also if one of them finds that another worker has the saga: none continues unseen.
  const settled = await Promise.allSettled(open.map((step) => runBranch(execution, step, node.at, group)));
  const ends = settled.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
  const failure = ends.find((one) => one.kind === "failed");
  if (failure?.kind === "failed") return execution.turnBack(node, failure.error);
  if (ends.some(({ kind }) => kind === "left")) {
    if (execution.signals.lost.aborted) return false;
    if (execution.end !== null) return true;
    await execution.change({ event: "handed over", wakeAfter: 0 });
    return false;
  }
  execution.note({ event: "all done", step: node.at + node.steps.length, attempt: 0, branches: {}, error: null });
  return true;
}

async function runBranch(execution: Execution, step: Step, at: number, group: { failed: boolean }): Promise<BranchEnd> {
  const { settings } = execution.parts;
  const retries = step.retries ?? settings.maxRetries;
  for (;;) {
    const { lost, draining } = execution.signals;
    if (lost.aborted || draining.aborted || group.failed || execution.end !== null) return { kind: "left" };
    const number = (execution.row.branches[step.name] ?? 0) + 1;
    if (execution.isDeadly) return failed(group, execution.row.error ?? "the step did not end");
    const log = { logStep: step.name, logAttempt: number };
    await execution.write(
      (row, changes) => execution.parts.storage.transition(row, changes),
      () => ({
        event: "action started",
        branches: { ...execution.row.branches, [step.name]: number },
        inflight: withName(execution.row.inflight, step.name),
        ...log,
      }),
    );
    const outcome = await runAction(execution, step, number, at);
    if (outcome.kind === "lost") return { kind: "left" };
    const result = outcome.kind === "done" ? plainResult(outcome.result) : undefined;
    const error = outcome.kind === "done" ? notJson(step) : errorText(outcome.error);
    const event = eventOf(outcome);
    const unknown = outcome.kind === "unknown" || (outcome.kind === "done" && result === undefined);
    await execution.write(
      (row, changes) => execution.parts.storage.transition(row, changes),
      () => {
        const { row } = execution;
        const inflight = without(row.inflight, step.name);
        if (result !== undefined) {
          const results = { [step.name]: result.value };
          return { event: "action done", inflight, unknown: without(row.unknown, step.name), results, ...log };
        }
        const names = unknown ? withName(row.unknown, step.name) : row.unknown;
        return { event, inflight, unknown: names, error, logError: error, ...log };
      },
    );
    if (result !== undefined) return { kind: "done" };
    const refused = outcome.kind === "done" || isInstance(outcome.error, StepRefused);
    const over = event === "action timed out" && execution.row.left !== null && step.timeoutMs === undefined;
    // A lost driver may have had other branches under way: an attempt too many is better than one too few.
    const failures = Math.max(number - execution.row.lost, 1);
    if (refused || over || failures > retries || execution.end !== null) return failed(group, error);
    const pause = Math.min(backoff(failures - 1, settings.backoffMs, longestPause), Math.max(execution.left, 0));
    // In this process: other branches may be under way.
    const { signals } = execution;
    await sleep(pause, signals.lost, signals.cancelled, signals.draining);
  }
}

function failed(group: { failed: boolean }, error: string): BranchEnd {
  group.failed = true;
  return { kind: "failed", error };
}
