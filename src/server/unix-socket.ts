import { statSync, unlinkSync } from "node:fs";
import { connect } from "node:net";

/**
 * Removes a socket file on which no process listens: the file of a killed server would otherwise keep the next one
 * from starting. Anything else at that path is left alone.
 */
export async function clearStaleSocket(path: string): Promise<void> {
  if (!statSync(path, { throwIfNoEntry: false })?.isSocket()) return;
  if (await isRefused(path)) unlinkSync(path);
}

function isRefused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
  });
}
