import { createServer } from "node:net";
import { listenError } from "./start-error.js";
import type { ListenAddress } from "./transport.js";

/**
 * Workers that each ask for port 0 share a port only as long as one of them lives; so the port is chosen beforehand,
 * for those that come later too.
 */
export function freePort(address: ListenAddress): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error) => reject(listenError(error, address)));
    server.listen(0, address.host, () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
