import type { ChildProcess } from "node:child_process";

/** The place of a worker that was stuck, as its watchdog found it. */
export interface StuckReport {
  /** The innermost function that is not Node's: `name (file:line)`. */
  readonly at: string | null;
  /** The innermost function first. */
  readonly stack: readonly string[];
}

/**
 * The descriptor in a worker that leads to its supervisor. The channel of messages belongs to the main thread, which is
 * stuck; a thread can write to a descriptor.
 */
export const reportDescriptor = 4;
export const workerStdio = ["inherit", "inherit", "inherit", "ipc", "pipe"] as const;

/** Characters of a report that are read. */
const maxReport = 64 * 1024;

/** Calls back with the report of a worker's watchdog, once. */
export function onStuckReport(child: ChildProcess, callback: (report: StuckReport) => void): void {
  const pipe = child.stdio[reportDescriptor];
  if (!pipe || !("setEncoding" in pipe)) return;
  let text = "";
  const take = (piece: string): void => {
    text += piece;
    const end = text.indexOf("\n");
    if (end === -1 && text.length < maxReport) return;
    // Read to the end all the same, so that its writer is not held up.
    pipe.off("data", take).resume();
    const report = readReport(text.slice(0, end));
    if (report) callback(report);
  };
  pipe
    .setEncoding("utf8")
    .on("error", () => {})
    .on("data", take);
}

function readReport(line: string): StuckReport | null {
  try {
    const { at, stack } = JSON.parse(line);
    return {
      at: typeof at === "string" ? at : null,
      stack: Array.isArray(stack) ? stack.filter((frame) => typeof frame === "string") : [],
    };
  } catch {
    return null;
  }
}
