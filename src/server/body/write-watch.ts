import type { BodyHolder, HeldBody, UnreadClient, UnreadResponses } from "./unread-responses.js";

/** The part of a socket that shows how many of the written bytes have been taken. */
export interface WatchedSocket extends UnreadClient {
  readonly writableLength: number;
  readonly bytesWritten?: number;
  readonly destroyed?: boolean;
}

/** Counts the bytes that a client has not taken, and notices, by looking once a tick, that it has stopped taking any. */
export class WriteWatch implements BodyHolder {
  readonly #socket: WatchedSocket;
  readonly #unread: UnreadResponses;
  #taken = 0;
  #ticks = 0;

  constructor(socket: WatchedSocket, unread: UnreadResponses) {
    this.#socket = socket;
    this.#unread = unread;
  }

  /** To be called when the client is behind, and when it has caught up. The bytes of a destroyed socket do not count. */
  count(): void {
    this.#unread.set(this.#socket, this.#socket.destroyed ? 0 : this.#socket.writableLength);
  }

  hold(body: HeldBody): void {
    if (!this.#socket.destroyed) this.#unread.hold(this.#socket, body);
  }

  release(body: HeldBody): void {
    this.#unread.release(this.#socket, body);
  }

  /** Called at every tick: true if nothing was taken for more than so many of them. */
  isStalled(ticks: number): boolean {
    this.count();
    const waiting = this.#socket.writableLength;
    if (waiting === 0) {
      this.#ticks = 0;
      return false;
    }
    // The bytes that the system has taken: all that were ever written, less those that still wait here.
    const taken = (this.#socket.bytesWritten ?? 0) - waiting;
    if (taken !== this.#taken) {
      this.#taken = taken;
      this.#ticks = 0;
      return false;
    }
    return ++this.#ticks > ticks;
  }
}
