import { connect, createServer, type Server, type Socket } from "node:net";
import { freePort } from "../../../scripts/services/ports.mjs";

type Change = (chunk: Buffer) => Buffer;

/** A TCP proxy in front of a server, which delays, cuts, swallows, corrupts and refuses as a test wishes. */
export class FaultProxy {
  /** Swallows everything, both ways, as a network that drops packets does. */
  blackHole = false;
  /** Milliseconds by which what the server says is held back. */
  delay = 0;
  /** Changes what the server says. */
  change: Change | null = null;
  /** Changes what the client says. */
  changeRequest: Change | null = null;
  readonly #target: { host: string; port: number };
  readonly #pairs = new Set<{ client: Socket; server: Socket }>();
  #listener: Server | null = null;
  #port = 0;

  private constructor(target: { host: string; port: number }) {
    this.#target = target;
  }

  static async start(url: string): Promise<FaultProxy> {
    const { hostname, port } = new URL(url);
    const proxy = new FaultProxy({ host: hostname, port: Number(port) });
    await proxy.open();
    return proxy;
  }

  /** The URL of the server, through the proxy. */
  through(url: string): string {
    const changed = new URL(url);
    changed.hostname = "127.0.0.1";
    changed.port = String(this.#port);
    return changed.href;
  }

  get connections(): number {
    return this.#pairs.size;
  }

  /** Listens, at the same port as before. */
  async open(): Promise<void> {
    const listener = createServer((client) => this.#join(client));
    this.#port ||= await freePort();
    await new Promise<void>((resolve, reject) => {
      listener.once("error", reject);
      listener.listen(this.#port, "127.0.0.1", resolve);
    });
    this.#listener = listener;
  }

  /** Breaks every connection. */
  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy();
      server.destroy();
    }
  }

  /** Breaks every connection and refuses new ones, as a server that is down does. */
  async close(): Promise<void> {
    const listener = this.#listener;
    this.#listener = null;
    const closed = new Promise<void>((resolve) => (listener ? listener.close(() => resolve()) : resolve()));
    this.cut();
    await closed;
  }

  /** Says something to every client in the server's name. */
  inject(bytes: Buffer): void {
    for (const { client } of this.#pairs) client.write(bytes);
  }

  #join(client: Socket): void {
    const server = connect(this.#target);
    const pair = { client, server };
    this.#pairs.add(pair);
    for (const socket of [client, server]) {
      socket.on("error", () => {});
      socket.on("close", () => {
        this.#pairs.delete(pair);
        client.destroy();
        server.destroy();
      });
    }
    client.on("data", (chunk) => {
      if (!this.blackHole) server.write(this.changeRequest?.(chunk) ?? chunk);
    });
    server.on("data", (chunk) => {
      if (this.blackHole) return;
      const answer = this.change?.(chunk) ?? chunk;
      if (this.delay === 0) client.write(answer);
      else setTimeout(() => client.write(answer), this.delay);
    });
  }
}
