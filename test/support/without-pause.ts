/**
 * True if timers run while a call is made again and again, as soon as it has failed. Otherwise such a loop would hang the
 * process; here it gives up after many calls.
 */
export async function letsTimersRun(call: () => Promise<unknown>): Promise<boolean> {
  let ran = false;
  const timer = setTimeout(() => (ran = true), 20);
  for (let i = 0; i < 100_000 && !ran; i++) await call().catch(() => undefined);
  clearTimeout(timer);
  return ran;
}
