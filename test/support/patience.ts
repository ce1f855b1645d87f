import { vi } from "vitest";

/**
 * Milliseconds that a test waits for what must come. Only a fault reaches it: a second, the default of `vi.waitFor`, passes
 * without any progress on a machine that is busy.
 */
const patience = 150_000;

const patient = Symbol.for("stoa.patience");
const utils: typeof vi & { [patient]?: true } = vi;

// Files that share a process share `vi`.
if (!utils[patient]) {
  const { waitFor, waitUntil } = vi;
  vi.waitFor = (callback, options) => waitFor(callback, patiently(options));
  vi.waitUntil = (callback, options) => waitUntil(callback, patiently(options));
  utils[patient] = true;
}

function patiently(options: number | { interval?: number; timeout?: number } = {}): { timeout: number } {
  const { timeout = 0, ...rest } = typeof options === "number" ? { timeout: options } : options;
  return { ...rest, timeout: Math.max(timeout, patience) };
}
