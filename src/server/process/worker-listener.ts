import { type Server, Socket } from "node:net";
import type { ListenAddress } from "../transport.js";
import { type ParentLink, type ParentMessage, parentLink } from "./parent-link.js";

interface Place {
  readonly server: Server;
  readonly settle: (message: Extract<ParentMessage, { stoa: "listening" }>) => void;
}

const places = new Map<string, Place>();

/** Lets the supervisor or the reloader listen, and gives the connections that it hands over to the server. */
export function listenThrough(link: ParentLink, server: Server, address: ListenAddress): Promise<number> {
  if (places.size === 0) process.on("message", hear);
  const key = freeKey(address);
  return new Promise((resolve, reject) => {
    const end = (): void => {
      places.delete(key);
      if (places.size === 0) process.off("message", hear);
    };
    places.set(key, {
      server,
      settle: ({ port, error }) => {
        if (port !== null) return resolve(port);
        end();
        reject(Object.assign(new Error(error?.message), { code: error?.code }));
      },
    });
    server.once("close", () => {
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

function hear(given: unknown, handle: unknown): void {
  const message = given as ParentMessage | null;
  if (message?.stoa === "listening") places.get(message.key)?.settle(message);
  if (message?.stoa !== "connection") return;
  const server = places.get(message.key)?.server;
  // Before the first byte is read: a connection that is not taken is handed to another worker.
  void parentLink?.send({ stoa: "took", key: message.key, taken: server !== undefined });
  if (server === undefined) {
    (handle as { close(): void }).close();
    return;
  }
  const { allowHalfOpen } = server as unknown as { allowHalfOpen: boolean };
  const socket = new Socket({ handle, allowHalfOpen, readable: true, writable: true } as object);
  socket.setNoDelay(true);
  server.emit("connection", socket);
}
