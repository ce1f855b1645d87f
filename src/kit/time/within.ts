/** The longest delay of a timer of Node. A longer one would end at once. */
export const longestDelay = 2_147_483_647;

/**
 * The value of the promise; if it takes longer than so many milliseconds, the value of `late`, which may throw. Rejects with
 * the reason of the signal as soon as that is aborted. No timer is left behind.
 */
export async function within<T, L = undefined>(
  promise: PromiseLike<T>,
  milliseconds: number,
  late: () => L = () => undefined as L,
  ...signals: readonly AbortSignal[]
): Promise<T | L> {
  const ended = new AbortController();
  const waited = sleep(milliseconds, ended.signal, ...signals).then(() => {
    for (const signal of signals) signal.throwIfAborted();
    return ended.signal.aborted ? (undefined as L) : late();
  });
  try {
    return await Promise.race([promise, waited]);
  } finally {
    ended.abort();
  }
}

/** The part of an `AbortSignal` that work of the framework needs. */
export interface FlagReader {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/** Resolves after so many milliseconds, or as soon as one of the signals is aborted. */
export function sleep(milliseconds: number, ...signals: readonly FlagReader[]): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(milliseconds, longestDelay));
    for (const signal of signals) {
      if (signal.aborted) return end();
      signal.addEventListener("abort", end);
    }
  });
}
