import { unlinkSync } from "node:fs";
import { isIP } from "node:net";
import { nodeUtil } from "../../kit/node-modules.js";
import { parentLink } from "../process/parent-link.js";
import { type Handle, listenThrough } from "../process/worker-listener.js";
import type { Listener } from "../socket-server.js";
import { backlog, type ListenAddress, type TransportOptions } from "../transport.js";
import type { NativeSocket } from "./native-socket.js";
import type { Wire, WireListener } from "./wire.js";

/** Milliseconds between two reports of connections that could not be accepted. */
const reportPeriod = 1000;

/** Listens with the addon. A worker listens through its supervisor, and the addon takes over the connections. */
export class NativeListener implements Listener, WireListener {
  /** TLS is served by node:net. */
  readonly handshakes = 0;
  readonly #wire: Wire;
  readonly #options: TransportOptions;
  readonly #accept: (socket: NativeSocket) => void;
  #id = -1;
  #path: string | null = null;
  #closed = false;
  #whenClosed: (() => void) | null = null;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(wire: Wire, options: TransportOptions, accept: (socket: NativeSocket) => void) {
    this.#wire = wire;
    this.#options = options;
    this.#accept = accept;
  }

  async listen(address: ListenAddress): Promise<ListenAddress> {
    if (parentLink !== null) {
      const take = (handle: Handle): void => this.#take(handle);
      const port = await listenThrough(parentLink, address, take, (closed) => {
        this.#whenClosed = closed;
      });
      return { ...address, port };
    }
    const { host, port, path } = address;
    const target = path ?? (isIP(host) === 0 ? await addressOf(host) : host);
    // Closed while the name was looked up.
    if (this.#closed) return address;
    const id = this.#wire.listen(target, path === undefined ? port : -1, backlog, this.#limit(0), this);
    if (id < 0) throw systemError("listen", id, path ?? `${host}:${port}`);
    this.#id = id;
    this.#path = path ?? null;
    return path === undefined ? { ...address, port: this.#wire.addon.port(id) } : address;
  }

  close(): void {
    this.#closed = true;
    this.#whenClosed?.();
    this.#whenClosed = null;
    if (this.#id < 0) return;
    this.#wire.unlisten(this.#id);
    this.#id = -1;
    if (this.#path !== null) removeFile(this.#path);
  }

  destroy(): void {
    this.close();
  }

  setOthers(count: number): void {
    if (this.#id >= 0) this.#wire.addon.limit(this.#id, this.#limit(count));
  }

  // Called by the wire.

  opened(socket: NativeSocket): void {
    this.#accept(socket);
  }

  refused(errno: number): void {
    const now = performance.now();
    if (now - this.#reportedAt < reportPeriod) return;
    this.#reportedAt = now;
    this.#options.onError?.(systemError("accept", -errno));
  }

  #take(handle: Handle): void {
    const socket = this.#wire.adopt(handle.fd);
    handle.close();
    if (socket !== null) this.#accept(socket);
  }

  /** The connections that the addon may open beside so many others; -1 for any number. */
  #limit(others: number): number {
    const { maxConnections } = this.#options;
    return maxConnections === 0 ? -1 : Math.max(0, Math.min(maxConnections, 0x7fffffff) - others);
  }
}

async function addressOf(host: string): Promise<string> {
  const { lookup } = await import("node:dns/promises");
  return (await lookup(host)).address;
}

/** As Node makes them. */
function systemError(syscall: string, errno: number, where = ""): Error {
  const { getSystemErrorMap, getSystemErrorName } = nodeUtil();
  const code = getSystemErrorName(errno);
  const text = getSystemErrorMap().get(errno)?.[1] ?? "unknown error";
  return Object.assign(new Error(`${syscall} ${code}: ${text}${where && ` ${where}`}`), { code, errno, syscall });
}

function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Another process may have removed it, or it is a name without a file.
  }
}
