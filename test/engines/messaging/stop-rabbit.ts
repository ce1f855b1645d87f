import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "./harness.js";

/** Ends a node as an operator does: it closes its queues in order. */
export async function stopInOrder(folder: string, rabbit: { stop(): Promise<void> }): Promise<void> {
  const pid = Number(await readFile(join(folder, "pid"), "utf8"));
  process.kill(pid, "SIGTERM");
  await until(() => !isAlive(pid), "the node has ended");
  await rabbit.stop();
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
