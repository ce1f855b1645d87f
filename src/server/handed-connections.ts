import type { Worker } from "node:cluster";

interface Handle {
  close(): void;
}

/** The worker that each connection was last handed to. */
const owners = new WeakMap<Handle, Worker>();

/**
 * node:cluster hands a connection to a worker, keeps it open, and closes its own end when the worker has taken it. One
 * that is handed to a worker just as it is killed is never taken and never closed: the client would wait for ever.
 * There is at most one of these per worker, because the next is sent when the last was taken; it is closed here, when
 * the worker is gone, so that the client knows and can try again.
 */
export function closeUntakenConnection(worker: Worker): void {
  const child = worker.process;
  const send = child.send.bind(child) as (...args: unknown[]) => boolean;
  let handed: Handle | null = null;
  child.send = (...args: unknown[]): boolean => {
    if (isHandover(args[0]) && args[1]) {
      handed = args[1] as Handle;
      owners.set(handed, worker);
    }
    return send(...args);
  };
  // Closing one that was taken, and so closed, does nothing.
  worker.once("exit", () => {
    if (handed && owners.get(handed) === worker) handed.close();
  });
}

function isHandover(message: unknown): boolean {
  return (message as { readonly act?: unknown } | null)?.act === "newconn";
}
