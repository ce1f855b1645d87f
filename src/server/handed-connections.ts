import type { Worker } from "node:cluster";

interface Handle {
  close(callback?: () => void): void;
}

interface Handover {
  readonly handle: Handle;
  /** The number that node:cluster gave to its message. */
  readonly seq: unknown;
  readonly at: number;
}

/** A worker that serves. Times are those of `performance.now()`. */
interface Serving {
  readonly worker: Worker;
  readonly readyAt: number | null;
}

/**
 * node:cluster hands a connection to a worker, keeps it open, and closes its own end when the worker has taken it. A
 * connection that is handed to a worker just as it ends is never taken: it is closed with the channel, or never, and the
 * client loses its request or waits for ever. There is at most one of these per worker, because the next is sent when the
 * last was taken. It is kept open here until the worker has replied. When the worker is gone without a reply,
 * node:cluster gets the reply of a worker that refuses the connection, and hands it to another. Without another, the
 * connection is closed, so that the client knows and can try again.
 *
 * Another counts only if it has served since the connection was handed over, and its channel is open. If all were gone
 * meanwhile, node:cluster has made a new queue, and never looks into the one of this connection.
 */
export function rescueUntakenConnection(worker: Worker, serving: () => Iterable<Serving>): void {
  const child = worker.process;
  const send = child.send.bind(child) as (...args: unknown[]) => boolean;
  let handed: Handover | null = null;

  /** The connection that waits for a reply, and may be closed from here on. */
  const release = (): Handover | null => {
    const released = handed;
    handed = null;
    // The own property; the method of the prototype closes.
    if (released) delete (released.handle as Partial<Handle>).close;
    return released;
  };

  child.send = (...args: unknown[]): boolean => {
    if (isHandover(args[0]) && args[1]) {
      release();
      // The channel is closed: nobody would take the connection, and the end of the worker may have been seen already.
      if (!child.connected) {
        (args[1] as Handle).close();
        return false;
      }
      handed = { handle: args[1] as Handle, seq: args[0].seq, at: performance.now() };
      handed.handle.close = () => {};
    }
    return send(...args);
  };
  // Before node:cluster, which closes a connection that was taken.
  child.prependListener("internalMessage", (message: { readonly ack?: unknown } | null) => {
    if (handed !== null && message?.ack === handed.seq) release();
  });

  const gone = (): void => {
    const untaken = release();
    if (untaken === null) return;
    if (hasOther(untaken.at)) child.emit("internalMessage", { cmd: "NODE_CLUSTER", ack: untaken.seq, accepted: false });
    else untaken.handle.close();
  };
  const hasOther = (since: number): boolean => {
    for (const { worker: other, readyAt } of serving()) {
      if (other !== worker && other.process.connected && readyAt !== null && readyAt <= since) return true;
    }
    return false;
  };
  // In a turn of its own: node:cluster may not have heard yet that the channel of another is closed, and would hand the
  // connection to that one, which loses it.
  const later = (): void => void setImmediate(gone);
  // Messages of the worker can come after its exit, up to the end of the channel.
  child.once("exit", () => {
    if (child.connected) child.once("disconnect", later);
    else later();
  });
}

function isHandover(message: unknown): message is { readonly act: "newconn"; readonly seq: unknown } {
  return (message as { readonly act?: unknown } | null)?.act === "newconn";
}
