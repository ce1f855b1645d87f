import { asPromise, isPromise } from "../kit/is-promise.js";
import { LazySignal } from "../kit/time/lazy-signal.js";
import { type FlagReader, longestDelay } from "../kit/time/within.js";

/** The outcome of one attempt of a step or a job. */
export type AttemptOutcome =
  | { readonly kind: "done"; readonly result: unknown }
  /** It failed by itself: its effect is not there. */
  | { readonly kind: "failed"; readonly error: unknown }
  /** Its time is over, its end was requested, or it says so itself: its effect may exist. */
  | { readonly kind: "unknown"; readonly error: unknown }
  /** Another worker has the work now. */
  | { readonly kind: "lost" };

export class WorkTimeout extends Error {
  override name = "WorkTimeout";
}

interface AttemptSignals {
  readonly lost: FlagReader;
  readonly cancelled?: FlagReader | undefined;
}

/**
 * Runs a function until it ends, its time is over or a signal is aborted; `settle` is called once with the outcome. The result
 * of work that was lost and ends well all the same goes to `late`; other late results are discarded. The time is measured by
 * a clock of the process that only moves forward.
 */
export function attempt(
  run: (attempt: LazySignal) => unknown,
  milliseconds: number,
  { lost, cancelled }: AttemptSignals,
  settle: (outcome: AttemptOutcome) => void,
  late?: (result: unknown) => void,
): void {
  const controller = new LazySignal();
  const result = lost.aborted || cancelled?.aborted ? null : begin(run, controller);
  if (result === null) {
    settle(lost.aborted ? { kind: "lost" } : cancelledOutcome());
    return;
  }
  if (!isPromise(result)) {
    settle(result);
    return;
  }
  let settled: AttemptOutcome["kind"] | null = null;
  const end = (outcome: AttemptOutcome): void => {
    if (settled === "lost" && outcome.kind === "done") late?.(outcome.result);
    if (settled !== null) return;
    settled = outcome.kind;
    clearTimeout(timer);
    lost.removeEventListener("abort", onLost);
    cancelled?.removeEventListener("abort", onCancelled);
    if (outcome.kind !== "done" && outcome.kind !== "failed") controller.abort();
    settle(outcome);
  };
  const onLost = (): void => end({ kind: "lost" });
  const onCancelled = (): void => end(cancelledOutcome());
  const onTime = (): void => end({ kind: "unknown", error: new WorkTimeout("its time is over") });
  const timer = milliseconds <= longestDelay ? setTimeout(onTime, Math.max(milliseconds, 0)) : undefined;
  lost.addEventListener("abort", onLost);
  cancelled?.addEventListener("abort", onCancelled);
  asPromise(result).then(
    (value) => end({ kind: "done", result: value }),
    (error: unknown) => end({ kind: "failed", error }),
  );
}

/** The same as a promise. */
export function attempted(
  run: (attempt: LazySignal) => unknown,
  milliseconds: number,
  signals: AttemptSignals,
  late?: (result: unknown) => void,
): Promise<AttemptOutcome> {
  return new Promise((resolve) => attempt(run, milliseconds, signals, resolve, late));
}

/** Calls a function; a promise if it returns one, else the outcome. */
function begin(run: (attempt: LazySignal) => unknown, controller: LazySignal): Promise<unknown> | AttemptOutcome {
  try {
    const result = run(controller);
    return isPromise(result) ? result : { kind: "done", result };
  } catch (error) {
    return { kind: "failed", error };
  }
}

function cancelledOutcome(): AttemptOutcome {
  return { kind: "unknown", error: new WorkTimeout("its end was asked for") };
}
