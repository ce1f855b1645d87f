import type { ClientSocket } from "./http1/client-socket.js";

/** Closes a connection so that the client notices that the response is not whole. */
export function cutOff(socket: ClientSocket, endsBody: boolean): void {
  // A body that ends with the connection looks whole after an ordinary end; after a reset it does not.
  if (endsBody && socket.resetAndDestroy) {
    try {
      socket.resetAndDestroy();
      return;
    } catch {
      // Only TCP has resets.
    }
  }
  socket.destroy();
}
