/** The reasons of the rejections that nobody has handled while a function ran, and in the turns right after it. */
export async function unhandledIn(run: () => unknown): Promise<unknown[]> {
  const reasons: unknown[] = [];
  const note = (reason: unknown): void => void reasons.push(reason);
  const listeners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", note);
  try {
    await run();
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off("unhandledRejection", note);
    for (const listener of listeners) process.on("unhandledRejection", listener);
  }
  return reasons;
}
