/**
 * Rejects in a later turn of the event loop: for calls that fail without any input or output. A caller that calls again at
 * once would run in microtasks alone; no socket would be read, so that the outage could never end, and the process would hang.
 */
export function rejectLater(error: unknown): Promise<never> {
  return new Promise((_resolve, reject) => void setImmediate(reject, error));
}
