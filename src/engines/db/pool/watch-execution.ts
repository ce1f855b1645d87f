import { milliseconds } from "../../../kit/time/duration.js";
import { timeLimit } from "../../../kit/time/time-limit.js";
import { OperationalError } from "../errors.js";
import type { Execution } from "./execution.js";
import { cancelledError } from "./waiting-line.js";

/** Gives up an execution when the signal is aborted or its time, in seconds, is over. */
export function watchExecution(
  execution: Execution,
  signal: AbortSignal | undefined,
  timeout: number | undefined,
): void {
  if (signal?.aborted) {
    execution.abandon(cancelledError(signal.reason));
    return;
  }
  const onAbort = (): void => execution.abandon(cancelledError(signal?.reason));
  signal?.addEventListener("abort", onAbort);
  const stopTimer = timeout === undefined ? undefined : abandonAfter(execution, milliseconds(timeout));
  execution.unwatch = () => {
    signal?.removeEventListener("abort", onAbort);
    stopTimer?.();
  };
}

function abandonAfter(execution: Execution, ms: number): () => void {
  const late = (): OperationalError =>
    new OperationalError(`the statement took longer than its ${ms} ms`, { sqlstate: "57014" });
  return timeLimit(ms, () => execution.abandon(late()));
}
