/**
 * Calls back when a time is over, unless the returned function is called first. After a block of the event loop, timers run
 * before the sockets are read: a response that has long arrived would count as missing. So the time of such a block is given
 * again, once and up to the limit, and what has arrived is read before the call.
 */
export function timeLimit(milliseconds: number, onOver: () => void): () => void {
  const due = performance.now() + milliseconds;
  let reading: NodeJS.Immediate | undefined;
  let timer = setTimeout(() => {
    const late = Math.min(performance.now() - due, milliseconds);
    timer = setTimeout(() => (reading = setImmediate(onOver)), late);
  }, milliseconds);
  return () => {
    clearTimeout(timer);
    clearImmediate(reading);
  };
}
