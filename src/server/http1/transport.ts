import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { DirectSocket, UpgradeCallback } from "../../http/source.js";
import { BaseTransport } from "../base-transport.js";
import { countFor } from "../body/unread-responses.js";
import { type Listener, SocketServer } from "../socket-server.js";
import type { Dispatch, Transport, TransportFactory, TransportOptions } from "../transport.js";
import type { ClientSocket } from "./client-socket.js";
import { Connection, type ConnectionHost } from "./connection.js";
import { type Deadlines, deadlinesOf } from "./deadlines.js";
import { HeadParser } from "./head.js";
import { FieldLines, PreparedHeads } from "./response-head.js";

/** Our own HTTP/1.1 server on sockets: strict, and twice as fast as node:http. */
export const createNetTransport: TransportFactory = (dispatch, options) =>
  new Http1Transport(dispatch, options, (transport, changed) => {
    return new SocketServer(options, ["http/1.1"], (socket) => transport.accept(socket), changed);
  });

const key: unique symbol = Symbol("connection");
type Connected = Duplex & { [key]?: Connection };

/** Serves HTTP/1.1 on the connections of a listener. */
export class Http1Transport extends BaseTransport implements Transport, ConnectionHost {
  readonly parser: HeadParser;
  readonly heads = new PreparedHeads();
  readonly fieldLines = new FieldLines();
  readonly deadlines: Deadlines;
  protected readonly listener: Listener;
  readonly #open = new Set<Connection>();
  /** Sockets that speak another protocol now. */
  readonly #upgraded = new Set<Duplex>();
  /** The same for those that are no streams. */
  readonly #direct = new Set<ClientSocket>();

  constructor(
    dispatch: Dispatch,
    options: TransportOptions,
    createListener: (transport: Http1Transport, changed: () => void) => Listener,
  ) {
    super(dispatch, options);
    this.parser = new HeadParser(options);
    this.deadlines = deadlinesOf(this.clock, options);
    this.listener = createListener(this, () => this.checkEmpty());
  }

  get connections(): number {
    return this.#open.size + this.#upgraded.size + this.#direct.size;
  }

  protected get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  accept(socket: Duplex): void {
    socket.on("error", ignore);
    const connection = this.admit(socket, (socket as { encrypted?: boolean }).encrypted === true);
    if (connection === null) return;
    (socket as Connected)[key] = connection;
    if (socket instanceof Socket) {
      socket.on("data", onData);
      socket.push = pushReceived;
    } else {
      socket.on("data", onForeignData);
    }
    socket.on("end", onEnd);
    socket.on("drain", onDrain);
    socket.on("close", onClose);
  }

  /** A connection on a socket whose events the caller passes on. Null if there are too many: the socket is closed. */
  admit(socket: ClientSocket, secure: boolean): Connection | null {
    if (!this.limits.outer && this.isFull()) {
      socket.destroy();
      return null;
    }
    const connection = new Connection(this, socket, secure);
    this.#open.add(connection);
    this.clock.start();
    return connection;
  }

  left(connection: Connection): void {
    this.#open.delete(connection);
    this.checkEmpty();
  }

  handOver(connection: Connection, head: Buffer, upgrade: UpgradeCallback): void {
    if (upgrade.direct !== undefined && connection.socket.handTo !== undefined) {
      this.#handOverDirectly(connection, head, upgrade.direct);
      return;
    }
    const socket = connection.socket.release?.() ?? (connection.socket as unknown as Connected);
    delete (socket as Connected)[key];
    if (socket instanceof Socket) socket.push = Socket.prototype.push;
    socket.off("data", onData);
    socket.off("data", onForeignData);
    socket.off("end", onEnd);
    socket.off("drain", onDrain);
    socket.off("close", onClose);
    // As node:http leaves it: flowing as soon as the new owner listens, and nothing lost until then.
    (socket as { readableFlowing: boolean | null }).readableFlowing = null;
    this.#setUpgraded(socket, true);
    socket.on("close", () => {
      this.#setUpgraded(socket, false);
      this.unread.set(socket, 0);
    });
    upgrade(socket, head, countFor(socket, this.unread));
  }

  /** The listener continues to count the connection. */
  #handOverDirectly(connection: Connection, head: Buffer, upgrade: NonNullable<UpgradeCallback["direct"]>): void {
    const { socket } = connection;
    const receiver = upgrade(socket as unknown as DirectSocket, countFor(socket, this.unread));
    this.#direct.add(socket);
    socket.handTo!(receiver, () => {
      this.#direct.delete(socket);
      this.unread.set(socket, 0);
    });
    if (head.length > 0) receiver.received(head, 0, head.length);
    if (connection.hasEnded) receiver.ended();
  }

  #setUpgraded(socket: Duplex, open: boolean): void {
    if (open) this.#upgraded.add(socket);
    else this.#upgraded.delete(socket);
    this.listener.setOthers?.(this.#upgraded.size);
  }

  protected endIdle(all: boolean): void {
    for (const connection of this.#open) connection.drain(all);
  }

  protected endAll(): void {
    for (const connection of this.#open) connection.socket.destroy();
    for (const socket of [...this.#upgraded, ...this.#direct]) socket.destroy();
  }

  protected sweep(): void {
    for (const connection of this.#open) {
      try {
        connection.checkDeadlines();
      } catch (error) {
        connection.broken(error);
      }
    }
  }
}

/**
 * Takes the bytes that a socket received before they go through the stream, which costs a tenth of a small request. This
 * is done only while the stream is empty and flowing, so that no bytes overtake others. All other bytes come as a `data`
 * event, as they all would on a Node whose sockets hand over their bytes in another way.
 */
function pushReceived(this: Connected & Socket, chunk: Buffer | null, encoding?: BufferEncoding): boolean {
  if (chunk === null || this.readableLength > 0 || this.isPaused()) {
    return Socket.prototype.push.call(this, chunk, encoding);
  }
  onData.call(this, chunk);
  return true;
}

function onData(this: Connected, chunk: Buffer): void {
  const connection = this[key]!;
  try {
    connection.received(chunk, 0, chunk.length);
  } catch (error) {
    connection.broken(error);
  }
}

/** Bytes of another stream may belong to their writer, and chunked bodies are decoded in place: so they are copied. */
function onForeignData(this: Connected, chunk: Buffer): void {
  onData.call(this, Buffer.from(chunk));
}

function onEnd(this: Connected): void {
  const connection = this[key]!;
  try {
    connection.ended();
  } catch (error) {
    connection.broken(error);
  }
}

function onDrain(this: Connected): void {
  const connection = this[key]!;
  try {
    connection.drained();
  } catch (error) {
    connection.broken(error);
  }
}

function onClose(this: Connected): void {
  this[key]?.gone();
}

function ignore(): void {}
