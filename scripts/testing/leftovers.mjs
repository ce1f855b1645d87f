/**
 * Processes that a test run has started and that outlived it. Every process of a run inherits a variable with the number of
 * the run, also a server that was started detached, and a worker whose supervisor was killed: so all of them are found.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

export const mark = "STOA_TEST_RUN";

/** The processes with this mark but the current one: `{ pid, command }`. Empty where /proc does not exist. */
export function markedProcesses(value) {
  const wanted = `${mark}=${value}`;
  return numbersIn("/proc")
    .filter((pid) => pid !== process.pid)
    .filter((pid) => textOf(`/proc/${pid}/environ`).split("\0").includes(wanted))
    .map((pid) => ({ pid, command: textOf(`/proc/${pid}/cmdline`).replaceAll("\0", " ").trim() || programOf(pid) }));
}

/** Ends the processes with this mark that are no ancestors of the current one, and returns them. */
export function endMarked(value) {
  const found = markedProcesses(value);
  for (const { pid } of found) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
  return found;
}

function numbersIn(folder) {
  try {
    return readdirSync(folder).map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

function textOf(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function programOf(pid) {
  try {
    return readlinkSync(`/proc/${pid}/exe`);
  } catch {
    return "a process that has ended";
  }
}
