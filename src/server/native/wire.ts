import { nodeUtil } from "../../kit/node-modules.js";
import { processWide } from "../../kit/process-wide.js";
import { StartError } from "../start-error.js";
import { type Addon, engines, loadAddon } from "./addon.js";
import { NativeSocket, type SocketWire } from "./native-socket.js";

// The kinds of events, as in native/wire.c.
const OPENED = 0;
const DATA = 1;
const ENDED = 2;
const GONE = 3;
const DRAINED = 4;
const BEHIND = 5;
const REFUSED = 6;

const slots = 1 << 18;
const maxEvents = 1024;
const maxRanges = 4096;
const slabSize = 256 * 1024;
const outSize = 1024 * 1024;
/** Bytes to send that are gathered: beyond, they leave before they have left the caches of the processor. */
const gatherSize = 128 * 1024;

/** A listening socket, as far as its events go. */
export interface WireListener {
  opened(socket: NativeSocket): void;
  /** Connections could not be accepted: the number of the system's error. */
  refused(errno: number): void;
}

/** The one wire of this thread, or why it cannot be used. */
export function openWire(): Wire | string {
  return processWide("wire", () => wireOf(loadAddon(), process.env["STOA_NATIVE"] || "auto"));
}

export function wireOf(addon: Addon | string, engine: string): Wire | string {
  const wanted = engines.indexOf(engine as "auto");
  if (wanted < 0) {
    const names = engines.map((name) => JSON.stringify(name)).join(", ");
    throw new StartError(`STOA_NATIVE must be one of ${names}, not ${JSON.stringify(engine)}`);
  }
  if (typeof addon === "string") return addon;
  const wire = new Wire(addon);
  const error = wire.open(wanted);
  const refused = engine === "io_uring" ? engine : "it";
  return error < 0 ? `the system refuses ${refused}: ${nodeUtil().getSystemErrorName(error)}` : wire;
}

/**
 * The TypeScript half of native/wire.c: passes events on to sockets, and gathers the bytes that they write into one buffer,
 * which is sent once for each turn of the event loop.
 */
export class Wire implements SocketWire {
  engine = "";
  /** By slot of a connection: the bytes that the system has not taken. Written by the addon. */
  readonly pending: Int32Array = new Int32Array(slots);
  readonly #sockets: (NativeSocket | undefined)[] = [];
  readonly #listeners = new Map<number, WireListener>();
  readonly #events = new Int32Array(4 * maxEvents);
  /** Never leaves the server: connections copy what they keep. */
  readonly #slab = Buffer.allocUnsafeSlow(slabSize);
  readonly #out = Buffer.allocUnsafeSlow(outSize);
  readonly #index = new Int32Array(1 + 3 * maxRanges);
  readonly #state = new Int32Array(1);
  #end = 0;
  #flushIsDue = false;
  readonly #flushLater = (): void => {
    this.#flushIsDue = false;
    this.flush();
  };

  constructor(readonly addon: Addon) {}

  /** Called once, first. Returns an error below 0 if the system refuses. */
  open(engine: number): number {
    const call = (count: number): void => this.#handle(count);
    const shared = [this.#events, this.#slab, this.#out, this.#index, this.pending, this.#state] as const;
    const opened = this.addon.open(call, ...shared, engine);
    this.engine = engines[opened] ?? "";
    return opened;
  }

  /** Listens; returns the id of the listener, or an error below 0. A port of -1 makes a Unix socket. */
  listen(address: string, port: number, backlog: number, limit: number, listener: WireListener): number {
    const id = this.addon.listen(address, port, backlog, limit);
    if (id >= 0) this.#listeners.set(id, listener);
    return id;
  }

  unlisten(id: number): void {
    this.#listeners.delete(id);
    this.addon.unlisten(id);
  }

  /** A socket for a connection that was accepted elsewhere: the descriptor is copied. Null if there is none left. */
  adopt(descriptor: number): NativeSocket | null {
    const id = this.addon.adopt(descriptor);
    return id < 0 ? null : this.#open(id);
  }

  /** Sends text after what was written before; returns its bytes. */
  put(id: number, text: string, encoding: BufferEncoding): number {
    const most = encoding === "latin1" ? text.length : 3 * text.length;
    if (most > outSize) return this.send(id, Buffer.from(text, encoding));
    this.#makeRoom(most);
    const size = this.#out.write(text, this.#end, most, encoding);
    this.#add(id, size);
    return size;
  }

  /** Sends bytes, which are copied, after what was written before. */
  putBytes(id: number, bytes: Uint8Array): number {
    this.#makeRoom(bytes.length);
    this.#out.set(bytes, this.#end);
    this.#add(id, bytes.length);
    return bytes.length;
  }

  /** Sends bytes at once. Those that the system does not take are copied. */
  send(id: number, bytes: Uint8Array): number {
    this.addon.send(id, bytes);
    return bytes.length;
  }

  flush(): void {
    if (this.#index[0] !== 0) this.addon.flush();
  }

  forget(socket: NativeSocket): void {
    this.#sockets[socket.slot] = undefined;
  }

  #makeRoom(size: number): void {
    const count = this.#index[0]!;
    if (count > 0 && (this.#end + size > outSize || this.#end > gatherSize || count === maxRanges)) this.addon.flush();
    if (this.#index[0] === 0) this.#end = 0;
  }

  #add(id: number, size: number): void {
    if (size === 0) return;
    const index = this.#index;
    const count = index[0]!;
    const last = 3 * count - 2;
    if (count > 0 && index[last] === id && index[last + 1]! + index[last + 2]! === this.#end) {
      index[last + 2]! += size;
    } else {
      index[last + 3] = id;
      index[last + 4] = this.#end;
      index[last + 5] = size;
      index[0] = count + 1;
    }
    this.#end += size;
    // While the addon calls, it sends when the call is over, with everything that promises have written.
    if (this.#state[0] !== 0 || this.#flushIsDue) return;
    this.#flushIsDue = true;
    queueMicrotask(this.#flushLater);
  }

  #open(id: number): NativeSocket {
    const socket = new NativeSocket(this, id, id & (slots - 1));
    this.#sockets[socket.slot] = socket;
    return socket;
  }

  #handle(count: number): void {
    const events = this.#events;
    for (let at = 0; at < 4 * count; at += 4) {
      const id = events[at]!;
      const kind = events[at + 1]!;
      if (kind === OPENED || kind === REFUSED) this.#handleListener(id, kind, events[at + 2]!);
      else this.#handleSocket(id, kind, events[at + 2]!, events[at + 3]!);
    }
  }

  #handleSocket(id: number, kind: number, a: number, b: number): void {
    const socket = this.#sockets[id & (slots - 1)];
    // One that was destroyed in this turn may have had further events.
    if (socket === undefined || socket.id !== id) return;
    const { receiver } = socket;
    try {
      if (kind === DATA) {
        receiver?.received(this.#slab, a, a + b);
      } else if (kind === ENDED) {
        receiver?.ended();
      } else if (kind === DRAINED) {
        if (this.pending[socket.slot] === 0) receiver?.drained();
      } else if (kind === BEHIND) {
        if (this.pending[socket.slot] !== 0) receiver?.fellBehind();
      } else if (kind === GONE) {
        socket.closed();
      }
    } catch (error) {
      receiver?.broken(error);
    }
  }

  #handleListener(id: number, kind: number, a: number): void {
    // Of a connection, the first number is that of the listener.
    const listener = this.#listeners.get(kind === OPENED ? a : id);
    if (kind === REFUSED) listener?.refused(a);
    else if (listener === undefined) this.#open(id).destroy();
    else listener.opened(this.#open(id));
  }
}
