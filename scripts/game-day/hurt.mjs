import { pause } from "../chaos/wait.mjs";

/** Takes away the free space of a disk for a while. */
export async function filled(disk, seconds) {
  await disk.fill();
  await pause(seconds * 1000);
  await disk.free();
}

/** Stops a process for a while. */
export async function freeze(pid, seconds) {
  process.kill(pid, "SIGSTOP");
  await pause(seconds * 1000);
  process.kill(pid, "SIGCONT");
}
