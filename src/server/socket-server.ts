import { createServer, type Server, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { parentLink } from "./process/parent-link.js";
import { giveTo, listenThrough } from "./process/worker-listener.js";
import { backlog, type ListenAddress, type TransportOptions } from "./transport.js";

/** The listening half of a transport. */
export interface Listener {
  /** TLS handshakes under way. */
  readonly handshakes: number;
  listen(address: ListenAddress): Promise<ListenAddress>;
  /** Accepts nothing more. */
  close(): void;
  /** Ends handshakes under way too. */
  destroy(): void;
  /** So many connections count beside those that the listener knows. */
  setOthers?(count: number): void;
}

/** Listens with node:net: hands on connections without TLS, and those whose handshake is done. */
export class SocketServer implements Listener {
  /** Sockets below TLS, so that handshakes under way can be ended too. */
  readonly #raw = new Set<Socket>();
  #handshakes = 0;
  #server: Server | null = null;

  /** `protocols` are those that a client can choose in its handshake (ALPN). */
  constructor(
    private readonly options: TransportOptions,
    private readonly protocols: readonly string[],
    private readonly accept: (socket: Duplex) => void,
    private readonly onHandshakeOver: () => void,
  ) {}

  /**
   * TLS handshakes under way. They are counted by the events that end them: the sockets of a connection, below TLS and
   * above it, are not closed at the same time.
   */
  get handshakes(): number {
    return Math.min(this.#handshakes, this.#raw.size);
  }

  async listen(address: ListenAddress): Promise<ListenAddress> {
    const { tls, onError } = this.options;
    this.#server =
      tls === null ? createServer({ noDelay: true, allowHalfOpen: true }, this.accept) : await this.#tlsServer(tls);
    return listenAt(this.#server, address, (error) => onError?.(error));
  }

  close(): void {
    this.#server?.close();
  }

  destroy(): void {
    this.close();
    for (const socket of this.#raw) socket.destroy();
  }

  async #tlsServer(tls: NonNullable<TransportOptions["tls"]>): Promise<Server> {
    const { headTimeout, onHandshakeError, onSecureServer } = this.options;
    // Loaded only when it is used: it takes longer than all the rest of a start.
    const { createServer: createTlsServer } = await import("node:tls");
    const server = createTlsServer(
      {
        handshakeTimeout: headTimeout * 1000,
        ...tls,
        ALPNProtocols: this.protocols,
        noDelay: true,
        // A client that closes its half in the middle of the handshake has left, and frees its place at once.
        allowHalfOpen: false,
      } as typeof tls,
      (socket) => {
        socket.allowHalfOpen = true;
        this.#handshakes--;
        this.accept(socket);
        this.onHandshakeOver();
      },
    );
    server.on("tlsClientError", (error, socket) => {
      this.#handshakes--;
      socket.destroy();
      onHandshakeError?.(error);
      this.onHandshakeOver();
    });
    server.on("connection", (socket: Socket) => this.#beginHandshake(socket));
    onSecureServer?.(server);
    return server;
  }

  /** A handshake under way counts as a connection. */
  #beginHandshake(socket: Socket): void {
    const { maxConnections } = this.options;
    if (maxConnections > 0 && this.#raw.size >= maxConnections) socket.destroy();
    this.#raw.add(socket);
    this.#handshakes++;
    socket.on("error", ignore);
    socket.on("close", () => {
      this.#raw.delete(socket);
      this.onHandshakeOver();
    });
  }
}

/** Resolves with the address that the server listens at: its port is known when the given one was 0. */
export async function listenAt(
  server: Server,
  address: ListenAddress,
  report: (error: unknown) => void,
): Promise<ListenAddress> {
  if (parentLink !== null) {
    const take = giveTo.bind(null, server);
    return { ...address, port: await listenThrough(parentLink, address, take, (end) => server.once("close", end)) };
  }
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    const target = address.path === undefined ? { host: address.host, port: address.port } : { path: address.path };
    server.listen({ ...target, backlog }, () => {
      server.off("error", reject);
      // A listener's later errors (out of descriptors) must not end the process; it continues to listen.
      server.on("error", report);
      const bound = server.address();
      resolve(bound !== null && typeof bound === "object" ? { ...address, port: bound.port } : address);
    });
  });
}

function ignore(): void {}
