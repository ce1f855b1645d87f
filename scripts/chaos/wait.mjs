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

/** Blocks the event loop by chance, for longer than a lease or two heartbeats. True if it did. */
export function mayBlock(chance) {
  if (Math.random() >= chance) return false;
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 4000);
  return true;
}
