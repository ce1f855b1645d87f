import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { HttpError } from "../../errors/http-error.js";
import type { UpgradeCallback } from "../../http/source.js";
import { BodyMemory } from "../body/body-memory.js";
import { UnreadResponses } from "../body/unread-responses.js";
import { Clock } from "../clock.js";
import { SocketServer } from "../socket-server.js";
import {
  type Dispatch,
  firstRequestGrace,
  type ListenAddress,
  type Transport,
  type TransportFactory,
  type TransportOptions,
} from "../transport.js";
import { Connection, type ConnectionHost } from "./connection.js";
import { type Deadlines, deadlinesOf } from "./deadlines.js";
import { HeadParser } from "./head.js";
import { FieldLines, PreparedHeads } from "./response-head.js";

/** Our own HTTP/1.1 server on sockets: strict, and twice as fast as node:http. */
export const createNetTransport: TransportFactory = (dispatch, options) => new NetTransport(dispatch, options);

const key: unique symbol = Symbol("connection");
type Connected = Duplex & { [key]?: Connection };

class NetTransport implements Transport, ConnectionHost {
  readonly dispatch: Dispatch;
  readonly clock: Clock;
  readonly parser: HeadParser;
  readonly bodyMemory: BodyMemory;
  readonly unread: UnreadResponses;
  readonly heads = new PreparedHeads();
  readonly fieldLines = new FieldLines();
  readonly deadlines: Deadlines;
  draining = false;
  /** True once nothing more is accepted, not even a connection whose handshake was under way when draining began. */
  #closed = false;
  readonly #options: TransportOptions;
  readonly #open = new Set<Connection>();
  /** Sockets that speak another protocol now. */
  readonly #upgraded = new Set<Duplex>();
  readonly #sockets: SocketServer;
  readonly #whenEmpty: (() => void)[] = [];

  constructor(dispatch: Dispatch, options: TransportOptions) {
    this.dispatch = dispatch;
    this.#options = options;
    this.parser = new HeadParser(options);
    this.bodyMemory = options.outer?.bodyMemory ?? new BodyMemory(options.maxBodyMemory);
    this.unread = options.outer?.unread ?? new UnreadResponses(options.maxUnreadMemory, options.onAbuse);
    this.clock = new Clock(options, () => this.#sweep());
    this.deadlines = deadlinesOf(this.clock, options);
    this.#sockets = new SocketServer(
      options,
      ["http/1.1"],
      (socket) => this.accept(socket),
      () => this.#checkEmpty(),
    );
  }

  get connections(): number {
    return this.#open.size + this.#upgraded.size;
  }

  listen(address: ListenAddress): Promise<ListenAddress> {
    return this.#sockets.listen(address);
  }

  accept(socket: Duplex): void {
    if (!this.#options.outer && this.#isFull()) {
      socket.on("error", ignore);
      socket.destroy();
      return;
    }
    const secure = (socket as { encrypted?: boolean }).encrypted === true;
    const connection = new Connection(this, socket, secure);
    (socket as Connected)[key] = connection;
    this.#open.add(connection);
    this.clock.start();
    if (socket instanceof Socket) {
      socket.on("data", onData);
      socket.push = pushReceived;
    } else {
      socket.on("data", onForeignData);
    }
    socket.on("end", onEnd);
    socket.on("drain", onDrain);
    socket.on("error", ignore);
    socket.on("close", onClose);
  }

  drain(): Promise<void> {
    this.draining = true;
    this.#sockets.close();
    for (const connection of this.#open) connection.drain(false);
    const rest = setTimeout(() => {
      this.#closed = true;
      for (const connection of this.#open) connection.drain();
      this.#checkEmpty();
    }, firstRequestGrace);
    rest.unref();
    return new Promise((resolve) => {
      this.#whenEmpty.push(resolve);
      this.#checkEmpty();
    });
  }

  destroy(): void {
    this.draining = true;
    this.#closed = true;
    this.#sockets.destroy();
    for (const connection of this.#open) connection.socket.destroy();
    for (const socket of this.#upgraded) socket.destroy();
    this.clock.stop();
  }

  report(error: unknown): void {
    this.#options.onError?.(error);
  }

  refused(error: HttpError): void {
    this.#options.onRefusal?.(error);
  }

  left(connection: Connection): void {
    this.#open.delete(connection);
    this.#checkEmpty();
  }

  handOver(connection: Connection, head: Buffer, upgrade: UpgradeCallback): void {
    const socket = connection.socket as unknown as Connected;
    delete socket[key];
    if (socket instanceof Socket) socket.push = Socket.prototype.push;
    socket.off("data", onData);
    socket.off("data", onForeignData);
    socket.off("end", onEnd);
    socket.off("drain", onDrain);
    socket.off("close", onClose);
    // As node:http leaves it: flowing as soon as the new owner listens, and nothing lost until then.
    (socket as { readableFlowing: boolean | null }).readableFlowing = null;
    this.#upgraded.add(socket);
    socket.on("close", () => this.#upgraded.delete(socket));
    upgrade(socket, head);
  }

  #isFull(): boolean {
    const { maxConnections } = this.#options;
    return this.#closed || (maxConnections > 0 && this.connections >= maxConnections);
  }

  #sweep(): void {
    for (const connection of this.#open) {
      try {
        connection.checkDeadlines();
      } catch (error) {
        connection.broken(error);
      }
    }
  }

  #checkEmpty(): void {
    if (!this.draining || this.#open.size > 0 || (!this.#closed && this.#sockets.handshakes > 0)) return;
    this.#closed = true;
    this.clock.stop();
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
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
