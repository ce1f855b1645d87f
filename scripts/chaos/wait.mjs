export function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** Waits for a condition; false if it did not come true in time. */
export async function eventually(condition, milliseconds, interval = 100) {
  const deadline = Date.now() + milliseconds;
  while (!(await condition())) {
    if (Date.now() > deadline) return false;
    await pause(interval);
  }
  return true;
}
