import { once } from "node:events";
import { connect, createServer } from "node:net";

/** A way to a server that can be cut and mended. */
export async function startTunnel(targetPort) {
  const sockets = new Set();
  let server = null;
  let port = 0;
  const listen = async () => {
    server = createServer((client) => {
      const target = connect(targetPort, "127.0.0.1");
      for (const [from, to] of [
        [client, target],
        [target, client],
      ]) {
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
    port = server.address().port;
  };
  const cut = async () => {
    const closed = server && once(server, "close");
    server?.close();
    server = null;
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await listen();
  return { port, cut, mend: listen, close: cut };
}
