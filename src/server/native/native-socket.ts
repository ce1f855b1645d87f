import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { DirectReceiver, DirectSocket } from "../../http/source.js";
import type { ClientSocket } from "../http1/client-socket.js";
import type { Addon } from "./addon.js";

// The operations of native/wire.c.
const CLOSE = 0;
const RESET = 1;
const END = 2;
const PAUSE = 3;
const RESUME = 4;

/** Bytes of one write that are sent at once: the writer learns whether the client takes them. */
const largeWrite = 16 * 1024;

/** The wire, as far as a socket uses it. */
export interface SocketWire {
  readonly addon: Addon;
  readonly pending: Int32Array;
  put(id: number, text: string, encoding: BufferEncoding): number;
  putBytes(id: number, bytes: Uint8Array): number;
  send(id: number, bytes: Uint8Array): number;
  flush(): void;
  /** Passes no more events to the socket. */
  forget(socket: NativeSocket): void;
}

/** A client's socket of the native transport. */
export class NativeSocket implements ClientSocket, DirectSocket {
  readonly id: number;
  readonly slot: number;
  readonly lends = true;
  receiver: DirectReceiver | null = null;
  destroyed = false;
  bytesWritten = 0;
  readonly #wire: SocketWire;
  #ended = false;
  #remoteAddress: string | undefined;
  #closed: (() => void) | null = null;

  constructor(wire: SocketWire, id: number, slot: number) {
    this.#wire = wire;
    this.id = id;
    this.slot = slot;
  }

  get remoteAddress(): string | undefined {
    if (this.#remoteAddress === undefined && !this.destroyed) this.#remoteAddress = this.#wire.addon.address(this.id);
    return this.#remoteAddress;
  }

  get writableLength(): number {
    if (this.destroyed) return 0;
    this.#wire.flush();
    return this.#wire.pending[this.slot]!;
  }

  write(data: string | Uint8Array, encoding: BufferEncoding = "utf8"): boolean {
    if (this.destroyed || this.#ended) return true;
    const wire = this.#wire;
    if (typeof data === "string") {
      const size = wire.put(this.id, data, encoding);
      this.bytesWritten += size;
      if (size >= largeWrite) wire.flush();
    } else {
      this.bytesWritten += data.length >= largeWrite ? wire.send(this.id, data) : wire.putBytes(this.id, data);
    }
    return wire.pending[this.slot] === 0;
  }

  sendFile(descriptor: number, position: number, length: number): number {
    if (this.destroyed || this.#ended) return 0;
    const sent = this.#wire.addon.file(this.id, descriptor, position, length);
    this.bytesWritten += sent;
    return sent;
  }

  /** Nothing to do: writes of one turn leave together. */
  cork(): void {}

  uncork(): void {}

  end(text?: string, encoding?: BufferEncoding): void {
    if (this.destroyed || this.#ended) return;
    if (text !== undefined) this.write(text, encoding);
    this.#ended = true;
    this.#wire.addon.control(this.id, END);
  }

  pause(): void {
    if (!this.destroyed) this.#wire.addon.control(this.id, PAUSE);
  }

  resume(): void {
    if (!this.destroyed) this.#wire.addon.control(this.id, RESUME);
  }

  destroy(): void {
    this.#close(CLOSE);
  }

  resetAndDestroy(): void {
    if (this.remoteAddress === undefined) throw new Error("a Unix socket has no resets");
    this.#close(RESET);
  }

  /** Gives the connection to another protocol. `closed` is called when it has ended. */
  handTo(receiver: DirectReceiver, closed: () => void): void {
    this.receiver = receiver;
    this.#closed = closed;
    if (this.destroyed) process.nextTick(tellGone, this);
    else this.resume();
  }

  /** The connection as a socket of Node, for another protocol. The bytes that were told so far are the caller's. */
  release(): Duplex {
    const found = this.destroyed ? undefined : this.#wire.addon.detach(this.id);
    this.destroyed = true;
    this.receiver = null;
    this.#wire.forget(this);
    if (found === undefined) return new Socket().destroy();
    const [fd, unsent, received] = found;
    const socket = new Socket({ fd, readable: true, writable: true, allowHalfOpen: true });
    socket.on("error", ignore);
    if (received.length > 0) socket.unshift(received);
    if (unsent.length > 0) socket.write(unsent);
    return socket;
  }

  /** Called by the wire: the addon has closed the connection. */
  closed(): void {
    this.destroyed = true;
    this.#wire.forget(this);
    this.tellGone();
  }

  tellGone(): void {
    this.receiver?.gone();
    this.#closed?.();
  }

  #close(operation: number): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.#wire.forget(this);
    this.#wire.addon.control(this.id, operation);
    // Later, as a socket of Node closes: the connection may be in the middle of its work.
    process.nextTick(tellGone, this);
  }
}

function ignore(): void {}

function tellGone(socket: NativeSocket): void {
  socket.tellGone();
}
