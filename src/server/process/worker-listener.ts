import { type Server, Socket } from "node:net";
import { processWide } from "../../kit/process-wide.js";
import type { ListenAddress } from "../transport.js";
import { type ParentLink, type ParentMessage, parentLink } from "./parent-link.js";

/** A connection that the supervisor has accepted: Node's handle. */
export interface Handle {
  /** The descriptor. */
  readonly fd: number;
  close(): void;
}

interface Listening {
  readonly take: (handle: Handle) => void;
  readonly settle: (message: Extract<ParentMessage, { stoa: "listening" }>) => void;
}

const { places, hear } = processWide("places", () => ({ places: new Map<string, Listening>(), hear: hearParent }));

/**
 * Lets the supervisor or the reloader listen, and gives the connections that it hands over to `take`, until `whenClosed`
 * calls back.
 */
export function listenThrough(
  link: ParentLink,
  address: ListenAddress,
  take: (handle: Handle) => void,
  whenClosed: (callback: () => void) => void,
): Promise<number> {
  if (places.size === 0) process.on("message", hear);
  const key = freeKey(address);
  return new Promise((resolve, reject) => {
    const end = (): void => {
      places.delete(key);
      if (places.size === 0) process.off("message", hear);
    };
    places.set(key, {
      take,
      settle: ({ port, error }) => {
        if (port !== null) return resolve(port);
        end();
        reject(Object.assign(new Error(error?.message), { code: error?.code }));
      },
    });
    whenClosed(() => {
      end();
      void link.send({ stoa: "closed", key });
    });
    void link.send({ stoa: "listen", key, address });
  });
}

/** All workers run the same program: the nth server at an address is the same in each. */
function freeKey({ host, port, path }: ListenAddress): string {
  for (let n = 0; ; n++) {
    const key = JSON.stringify([path ?? host, path === undefined ? port : null, n]);
    if (!places.has(key)) return key;
  }
}

function hearParent(given: unknown, handle: unknown): void {
  const message = given as ParentMessage | null;
  if (message?.stoa === "listening") places.get(message.key)?.settle(message);
  if (message?.stoa !== "connection") return;
  const take = places.get(message.key)?.take;
  // Before the first byte is read: a connection that is not taken is handed to another worker.
  void parentLink?.send({ stoa: "took", key: message.key, taken: take !== undefined });
  if (take === undefined) (handle as Handle).close();
  else take(handle as Handle);
}

/** Gives a connection to a server that listens through the supervisor or the reloader. */
export function giveTo(server: Server, handle: Handle): void {
  const { allowHalfOpen } = server as unknown as { allowHalfOpen: boolean };
  const socket = new Socket({ handle, allowHalfOpen, readable: true, writable: true } as object);
  socket.setNoDelay(true);
  server.emit("connection", socket);
}
