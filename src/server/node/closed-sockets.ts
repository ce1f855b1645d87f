import type { Duplex } from "node:stream";

/** A user of a socket that has to know when it has closed. */
interface SocketUser {
  closed(): void;
}

const users = new WeakMap<Duplex, Set<SocketUser>>();

/**
 * Calls `closed` when the socket closes, until `unwatchClose`. node:http tells it only to the response that is being sent:
 * those that wait behind it would never end, and would stay in memory. One listener serves all of them.
 */
export function watchClose(socket: Duplex, user: SocketUser): void {
  let all = users.get(socket);
  if (all === undefined) {
    const added = new Set<SocketUser>();
    users.set(socket, added);
    socket.once("close", () => {
      for (const each of added) each.closed();
    });
    all = added;
  }
  all.add(user);
}

export function unwatchClose(socket: Duplex, user: SocketUser): void {
  users.get(socket)?.delete(user);
}
