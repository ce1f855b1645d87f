import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A way to a server that can be cut and mended. */
export interface Tunnel {
  readonly port: number;
  /** Breaks all connections and refuses new ones. */
  cut(): Promise<void>;
  /** Accepts connections again, on the same port. */
  mend(): Promise<void>;
  close(): Promise<void>;
}

export async function startTunnel(targetPort: number): Promise<Tunnel> {
  const sockets = new Set<Socket>();
  let server: Server | null = null;
  let port = 0;
  const listen = async () => {
    server = createServer((client) => {
      const target = connect(targetPort, "127.0.0.1");
      for (const [from, to] of [
        [client, target],
        [target, client],
      ] as const) {
        sockets.add(from);
        from.setNoDelay(true);
        from.on("error", () => {});
        from.on("close", () => {
          sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    port = (server.address() as AddressInfo).port;
  };
  const cut = async () => {
    const closed = server && once(server, "close");
    server?.close();
    server = null;
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await listen();
  return {
    get port() {
      return port;
    },
    cut,
    mend: listen,
    close: cut,
  };
}
