import { nodeOs } from "../../kit/node-modules.js";

export type StopSignal = "SIGTERM" | "SIGINT";

const stopSignals: readonly StopSignal[] = ["SIGTERM", "SIGINT"];

/**
 * Milliseconds within which signals count as one: Ctrl+C under `npm start` comes twice, from the terminal and passed on
 * by npm.
 */
const echo = 100;

/** Calls back for every signal to stop; `count` is 2 for the second one. Returns a function that removes the listener. */
export function onStopSignal(callback: (signal: StopSignal, count: number) => void): () => void {
  let count = 0;
  let last = Number.NEGATIVE_INFINITY;
  const listener = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (now - last < echo) return;
    last = now;
    callback(signal as StopSignal, ++count);
  };
  for (const signal of stopSignals) process.on(signal, listener);
  return () => {
    for (const signal of stopSignals) process.off(signal, listener);
  };
}

/**
 * Removes all listeners of the signals to stop, so that such a signal ends the process at once: in a stuck process no
 * listener runs. Returns a function that adds them again.
 */
export function suspendStopSignals(): () => void {
  const suspended = stopSignals.map((signal) => [signal, process.rawListeners(signal)] as const);
  for (const signal of stopSignals) process.removeAllListeners(signal);
  return () => {
    for (const [signal, listeners] of suspended) {
      for (const listener of listeners) process.on(signal, listener as NodeJS.SignalsListener);
    }
  };
}

/**
 * Calls back when the parent process says so, by SIGTERM. Ctrl+C reaches every process of a terminal: a child leaves it
 * to its parent. Returns a function that removes the listeners.
 */
export function onParentSignal(callback: () => void): () => void {
  const ignore = (): void => {};
  process.on("SIGTERM", callback);
  process.on("SIGINT", ignore);
  return () => {
    process.off("SIGTERM", callback);
    process.off("SIGINT", ignore);
  };
}

/**
 * Calls back for SIGHUP, by which operators ask services to read their files again. In a terminal SIGHUP says that the
 * terminal was closed, and ends the process as usual. Returns a function that removes the listener.
 */
export function onHangup(callback: () => void): () => void {
  if (process.stdout.isTTY) return () => {};
  process.on("SIGHUP", callback);
  return () => process.off("SIGHUP", callback);
}

/** The exit code that a shell reports for a process that a signal ended. */
export function exitCodeOf(signal: StopSignal): number {
  return 128 + nodeOs().constants.signals[signal];
}

/** A closed or broken output must not end a server: lines that cannot be written are lost. */
export function survivesBrokenOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
}
