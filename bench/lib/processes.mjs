import { readFileSync } from "node:fs";

/** Seconds of CPU time, user and system, of a process and all it started; the kernel counts in hundredths. */
export const cpuSeconds = (pid) => sumOver(pid, cpuOf);

/** Resident memory in MiB, of a process and all it started. */
export const residentMemory = (pid) => sumOver(pid, memoryOf);

export function childrenOf(pid) {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);
}

function sumOver(pid, figure) {
  return childrenOf(pid).reduce((sum, child) => sum + ofChild(child, figure), figure(pid));
}

/** A child may end between being found and being looked at. */
function ofChild(pid, figure) {
  try {
    return sumOver(pid, figure);
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ESRCH") return 0;
    throw error;
  }
}

/** Its own, and that of its children which have ended. */
function cpuOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}

function memoryOf(pid) {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;
}
