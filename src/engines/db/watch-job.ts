import { checkOption, is } from "../../internal/options.js";
import { OperationalError } from "./errors.js";
import type { Job } from "./job.js";
import { cancelledError } from "./waiting-line.js";

/** Gives up a job when the signal is aborted or its time is over. */
export function watchJob(job: Job, signal: AbortSignal | undefined, timeout: number | undefined): void {
  if (timeout !== undefined) checkOption("a statement", "timeout", timeout, is.integer(1, 2_147_483_647));
  if (signal?.aborted) {
    job.abandon(cancelledError(signal.reason));
    return;
  }
  const onAbort = (): void => job.abandon(cancelledError(signal?.reason));
  signal?.addEventListener("abort", onAbort);
  const timer = timeout === undefined ? undefined : setTimeout(() => job.abandon(tookTooLong(timeout)), timeout);
  job.unwatch = () => {
    signal?.removeEventListener("abort", onAbort);
    clearTimeout(timer);
  };
}

function tookTooLong(timeout: number): OperationalError {
  return new OperationalError(`the statement took longer than its ${timeout} ms`, { sqlstate: "57014" });
}
