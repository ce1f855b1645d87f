/** The outcome of one attempt of a step or a job. */
export type AttemptOutcome =
  | { readonly kind: "done"; readonly result: unknown }
  /** It failed by itself: its effect is not there. */
  | { readonly kind: "failed"; readonly error: unknown }
  /** Its time is over, or somebody asked for its end: its effect may be there. */
  | { readonly kind: "unknown"; readonly error: unknown }
  /** Another worker has the work now. */
  | { readonly kind: "lost" };

export class WorkTimeout extends Error {
  override name = "WorkTimeout";
}

/** The signal of an attempt. It is made when it is first read: most work never looks at it. */
export class AttemptSignal {
  #controller: AbortController | null = null;
  #aborted = false;

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#aborted) this.#controller.abort();
    }
    return this.#controller.signal;
  }

  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }
}

/** The largest delay of a timer of Node. */
const longestDelay = 2_147_483_647;

/** Runs a function as `attemptLazily` does, with a signal that is there from the start. */
export function attempt(
  run: (signal: AbortSignal) => unknown,
  milliseconds: number,
  signals: AttemptSignals,
): Promise<AttemptOutcome> {
  return attemptLazily((current) => run(current.signal), milliseconds, signals);
}

interface AttemptSignals {
  readonly lost: AbortSignal;
  readonly cancelled?: AbortSignal | undefined;
}

/**
 * Runs a function until it ends, its time is over or a signal is aborted. A late result is discarded. The time is measured by
 * a clock of the process that only moves forward.
 */
export function attemptLazily(
  run: (attempt: AttemptSignal) => unknown,
  milliseconds: number,
  { lost, cancelled }: AttemptSignals,
): Promise<AttemptOutcome> {
  const controller = new AttemptSignal();
  return new Promise((resolve) => {
    const end = (outcome: AttemptOutcome): void => {
      clearTimeout(timer);
      lost.removeEventListener("abort", onLost);
      cancelled?.removeEventListener("abort", onCancelled);
      if (outcome.kind !== "done" && outcome.kind !== "failed") controller.abort();
      resolve(outcome);
    };
    const onLost = (): void => end({ kind: "lost" });
    const onCancelled = (): void => end({ kind: "unknown", error: new WorkTimeout("its end was asked for") });
    const onTime = (): void => end({ kind: "unknown", error: new WorkTimeout("its time is over") });
    const timer = milliseconds <= longestDelay ? setTimeout(onTime, Math.max(milliseconds, 0)) : undefined;
    lost.addEventListener("abort", onLost);
    cancelled?.addEventListener("abort", onCancelled);
    if (lost.aborted) return onLost();
    if (cancelled?.aborted) return onCancelled();
    Promise.resolve()
      .then(() => run(controller))
      .then(
        (result) => end({ kind: "done", result }),
        (error: unknown) => end({ kind: "failed", error }),
      );
  });
}
