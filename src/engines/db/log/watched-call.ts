/** The facts about a statement that the layers above the database know, for the log of queries. */
let watchers = 0;
let cure: string | null = null;

/** True while a log wants to know the callers of statements. */
export function callersAreWatched(): boolean {
  return watchers > 0;
}

/** Counts a log that wants to know callers; the function returned ends that. */
export function watchCallers(): () => void {
  watchers++;
  let ended = false;
  return () => {
    if (!ended) watchers--;
    ended = true;
  };
}

/**
 * Runs a call that sends a statement. `await` calls a queryset's `then` from the event loop, where no frame of the caller
 * is on the stack. Two turns later all promises on the way are linked, and the stack of asynchronous calls leads to it.
 */
export async function watchedCall<T>(advice: string | null, call: () => Promise<T>): Promise<T> {
  await undefined;
  await undefined;
  return withCure(advice, call);
}

/** Statements are recorded before the call returns, so the advice is removed before other code runs. */
function withCure<T>(advice: string | null, call: () => Promise<T>): Promise<T> {
  cure = advice;
  try {
    return call();
  } finally {
    cure = null;
  }
}

/** The advice against repeating the statement that is being sent; null if there is none. */
export function currentCure(): string | null {
  return cure;
}
