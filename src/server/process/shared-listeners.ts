import { createServer, type Server, Socket } from "node:net";
import { backlog, type ListenAddress } from "../transport.js";
import type { ParentMessage } from "./parent-link.js";

/** A process that takes connections: a worker of node:cluster, or the child of a reloader. */
export interface Worker {
  isDead(): boolean;
  isConnected(): boolean;
  send(message: unknown, handle: never, options: undefined, done: () => void): unknown;
}

/** A connection that no JavaScript of this process reads: Node's handle. */
interface Connection {
  close(): void;
}

interface Listener {
  readonly key: string;
  readonly server: Server;
  readonly bound: Promise<number>;
  /** The workers that take connections. */
  readonly workers: Set<Worker>;
  /** Those of them that have taken their last one. */
  readonly free: Set<Worker>;
  /**
   * One connection for each worker at most, so that a worker that is busy holds up no other; with the turns that the worker
   * has made since.
   */
  readonly handed: Map<Worker, { readonly connection: Connection; turns: number }>;
  readonly waiting: Connection[];
}

/** Turns of a worker without a reply after which a connection did not reach it. */
const lostAfter = 5;

/**
 * The listening sockets of all workers. node:cluster closes a socket with its last worker, and loses a connection that a
 * worker had not taken when it ended. Here sockets stay open while the server runs: connections wait for the next worker.
 */
export class SharedListeners {
  readonly #listeners = new Map<string, Listener>();
  #closing = false;
  #refusal: string | null = null;

  /** Listens for a worker; all workers that give the same key share the socket. */
  async open(worker: Worker, key: string, address: ListenAddress): Promise<void> {
    const listener = this.#listeners.get(key) ?? this.#listen(key, address);
    try {
      send(worker, { stoa: "listening", key, port: await listener.bound });
    } catch (error) {
      this.#listeners.delete(key);
      const { code = "", message } = error as NodeJS.ErrnoException;
      send(worker, { stoa: "listening", key, port: null, error: { code, message } });
      return;
    }
    if (worker.isDead()) return;
    listener.workers.add(worker);
    listener.free.add(worker);
    this.#handOut(listener);
  }

  /** The worker has replied to a connection. One that it refused, because it leaves, is handed to another. */
  took(worker: Worker, key: string, taken: boolean): void {
    const listener = this.#listeners.get(key);
    const handed = listener?.handed.get(worker);
    if (!listener || !handed) return;
    listener.handed.delete(worker);
    if (taken) handed.connection.close();
    else listener.waiting.unshift(handed.connection);
    if (taken && listener.workers.has(worker)) listener.free.add(worker);
    this.#handOut(listener);
  }

  /**
   * The event loop of the worker has turned. The system drops a connection, and Node the message with it, if the worker has no
   * file descriptor left: it is handed out again, and the worker gets further ones.
   */
  turned(worker: Worker): void {
    for (const listener of this.#listeners.values()) {
      const handed = listener.handed.get(worker);
      if (!handed || ++handed.turns < lostAfter) continue;
      if (listener.workers.has(worker)) listener.free.add(worker);
      this.took(worker, listener.key, false);
    }
  }

  /** The worker takes no more connections. The socket is closed with the last one, unless it is kept for others to come. */
  leave(worker: Worker, key: string, keep: boolean): void {
    const listener = this.#listeners.get(key);
    if (!listener) return;
    listener.workers.delete(worker);
    listener.free.delete(worker);
    if (listener.workers.size === 0 && (this.#closing || !keep)) this.#close(listener);
  }

  /** The worker has ended, and its channel is closed. */
  lost(worker: Worker): void {
    for (const listener of this.#listeners.values()) {
      this.took(worker, listener.key, false);
      this.leave(worker, listener.key, true);
      this.#handOut(listener);
    }
  }

  /** While there is no worker, connections get this response; null lets them wait for one. */
  refuse(response: string | null): void {
    this.#refusal = response;
    for (const listener of this.#listeners.values()) this.#handOut(listener);
  }

  /** Closes the sockets that no worker uses. */
  closeUnused(): void {
    for (const listener of this.#listeners.values()) if (listener.workers.size === 0) this.#close(listener);
  }

  /** Closes each socket when its last worker leaves. */
  close(): void {
    this.#closing = true;
    this.closeUnused();
  }

  #listen(key: string, { host, port, path }: ListenAddress): Listener {
    const server = createServer();
    const waiting: Connection[] = [];
    const bound = new Promise<number>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ ...(path === undefined ? { host, port } : { path }), backlog }, () => {
        const address = server.address();
        resolve(typeof address === "object" && address !== null ? address.port : port);
      });
    });
    const listener = {
      key,
      server,
      bound,
      workers: new Set<Worker>(),
      free: new Set<Worker>(),
      handed: new Map(),
      waiting,
    };
    server.once("listening", () => {
      // As node:cluster does: a socket object per connection would cost more than all the rest here.
      const { _handle: handle } = server as unknown as { _handle: { onconnection: unknown } };
      handle.onconnection = (error: number, connection: Connection | undefined): void => {
        if (error !== 0 || connection === undefined) return;
        if (waiting.length < backlog) waiting.push(connection);
        else connection.close();
        this.#handOut(listener);
      };
    });
    this.#listeners.set(key, listener);
    return listener;
  }

  #handOut({ key, workers, free, handed, waiting }: Listener): void {
    if (this.#refusal !== null && workers.size === 0) {
      for (const connection of waiting.splice(0)) respond(connection, this.#refusal);
    }
    for (const worker of free) {
      const connection = waiting[0];
      if (connection === undefined) return;
      free.delete(worker);
      // A worker whose channel is closed is lost in a moment.
      if (!worker.isConnected()) continue;
      waiting.shift();
      handed.set(worker, { connection, turns: 0 });
      send(worker, { stoa: "connection", key }, connection);
    }
  }

  #close({ key, server, waiting }: Listener): void {
    this.#listeners.delete(key);
    server.close();
    for (const connection of waiting) connection.close();
  }
}

function send(worker: Worker, message: ParentMessage, connection?: Connection): void {
  if (worker.isConnected()) worker.send(message, connection as never, undefined, () => {});
}

/** Responds to the first bytes of a connection, whatever they are. */
function respond(connection: Connection, response: string): void {
  const socket = new Socket({ handle: connection, readable: true, writable: true } as object);
  socket.on("error", () => {});
  socket.setTimeout(5_000, () => socket.destroy());
  socket.once("data", () => socket.end(response));
}
