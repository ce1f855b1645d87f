/** Resolves after so many milliseconds, or as soon as one of the signals is aborted. */
export function sleep(milliseconds: number, ...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    for (const signal of signals) {
      if (signal.aborted) return end();
      signal.addEventListener("abort", end);
    }
  });
}
