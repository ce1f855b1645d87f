import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";

/**
 * Waits until a value stays the same while bytes go round through the system many times. For servers in the process of
 * the test: they share its event loop, so whatever can still move the value moves during those round trips.
 */
export async function untilStill(value: () => number): Promise<number> {
  const echo = createServer((socket) => socket.pipe(socket)).listen(0, "127.0.0.1");
  await once(echo, "listening");
  const socket = connect((echo.address() as AddressInfo).port, "127.0.0.1");
  try {
    for (;;) {
      const before = value();
      for (let i = 0; i < 200; i++) {
        socket.write("x");
        await once(socket, "data");
      }
      if (value() === before) return before;
    }
  } finally {
    socket.destroy();
    echo.close();
  }
}
