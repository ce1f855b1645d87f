import { within } from "../kit/time/within.js";
import type { Channel } from "./channel.js";
import { checkClose } from "./close-code.js";

/** The open WebSockets of an application. */
export class WebSocketRegistry {
  /** True if the close reason may name the class of an error. */
  debug = false;
  readonly #open = new Set<Channel>();
  readonly #running = new Set<Promise<void>>();
  /** The code and the reason of the end; null before it. */
  #farewell: readonly [code: number, reason: string] | null = null;

  get size(): number {
    return this.#open.size;
  }

  /** True if new sockets are refused: the application is shutting down. */
  get draining(): boolean {
    return this.#farewell !== null;
  }

  /** Keeps a socket until it is closed, and its handler until it has returned. */
  add(socket: Channel, running: Promise<void>): void {
    this.#open.add(socket);
    void socket.closed.then(() => this.#open.delete(socket));
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
    if (this.#farewell !== null) void socket.close(...this.#farewell);
  }

  /**
   * Closes every socket; one whose peer has not replied after `grace` seconds is terminated. Resolves when all are
   * closed and their handlers have returned, or the time is up. New sockets are refused.
   */
  async closeAll(code: number = 1001, reason: string = "", grace: number = 2): Promise<void> {
    checkClose(code, reason);
    this.#farewell = [code, reason];
    if (this.#open.size === 0 && this.#running.size === 0) return;
    for (const socket of this.#open) void socket.close(code, reason);
    await within(Promise.all(this.#running), grace * 1000);
    const left = [...this.#open];
    for (const socket of left) socket.terminate("the peer did not send a close frame");
    await Promise.all(left.map((socket) => socket.closed));
  }
}
