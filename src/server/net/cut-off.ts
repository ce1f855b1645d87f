import type { Duplex } from "node:stream";

/** Ends a connection so that the client notices that the answer is not whole. */
export function cutOff(socket: Duplex, endsBody: boolean): void {
  const { resetAndDestroy } = socket as { resetAndDestroy?: () => void };
  // A body that ends with the connection looks whole after an ordinary end; after a reset it does not.
  if (endsBody && resetAndDestroy) {
    try {
      resetAndDestroy.call(socket);
      return;
    } catch {
      // Only TCP knows of resets.
    }
  }
  socket.destroy();
}
