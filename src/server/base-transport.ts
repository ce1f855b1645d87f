import type { HttpError } from "../errors/http-error.js";
import { BodyMemory } from "./body/body-memory.js";
import { UnreadResponses } from "./body/unread-responses.js";
import { Clock, firstRequestGrace } from "./clock.js";
import type { Listener } from "./socket-server.js";
import type { Dispatch, ListenAddress, TransportOptions } from "./transport.js";

/** What the servers of all protocols share: the bounds of their memory, their clock, and the way in which they end. */
export abstract class BaseTransport {
  readonly clock: Clock;
  readonly bodyMemory: BodyMemory;
  readonly unread: UnreadResponses;
  draining = false;
  /** True while connections that had a request just now are kept for one more. */
  patient = false;
  /** True once nothing more is accepted, not even a connection whose handshake was under way when draining began. */
  protected closed = false;
  protected abstract readonly listener: Listener;
  readonly #whenEmpty: (() => void)[] = [];

  constructor(
    readonly dispatch: Dispatch,
    readonly limits: TransportOptions,
  ) {
    this.bodyMemory = limits.outer?.bodyMemory ?? new BodyMemory(limits.maxBodyMemory);
    this.unread = limits.outer?.unread ?? new UnreadResponses(limits.maxUnreadMemory, limits.onAbuse);
    this.clock = new Clock(limits, () => this.sweep());
  }

  /** All open connections. */
  abstract readonly connections: number;
  /** True if no connection is left that a server which drains waits for. */
  protected abstract readonly isEmpty: boolean;

  /** Called at every tick. */
  protected abstract sweep(): void;
  /** Ends the connections without a request; `all`: also those that were accepted just now, and may be about to send one. */
  protected abstract endIdle(all: boolean): void;
  /** Ends every connection. */
  protected abstract endAll(): void;

  listen(address: ListenAddress): Promise<ListenAddress> {
    return this.listener.listen(address);
  }

  drain(replaced = false): Promise<void> {
    this.draining = true;
    this.patient = replaced;
    this.listener.close();
    this.endIdle(false);
    const lastCall = (): void => {
      this.closed = true;
      this.endIdle(true);
      this.checkEmpty();
    };
    // Requests that arrived in time are read first, also after a turn that took longer.
    setTimeout(() => setImmediate(lastCall), firstRequestGrace).unref();
    return new Promise((resolve) => {
      this.#whenEmpty.push(resolve);
      this.checkEmpty();
    });
  }

  destroy(): void {
    this.draining = true;
    this.closed = true;
    this.listener.destroy();
    this.endAll();
    this.clock.stop();
  }

  report(error: unknown): void {
    this.limits.onError?.(error);
  }

  refused(error: HttpError): void {
    this.limits.onRefusal?.(error);
  }

  /** To be called when a connection was closed, or a handshake is over. */
  protected checkEmpty(): void {
    if (!this.draining || !this.isEmpty || (!this.closed && this.listener.handshakes > 0)) return;
    this.closed = true;
    this.clock.stop();
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  /** True if a further connection must be refused. */
  protected isFull(): boolean {
    const { maxConnections } = this.limits;
    return this.closed || (maxConnections > 0 && this.connections >= maxConnections);
  }
}
