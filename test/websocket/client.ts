import { WebSocket } from "ws";

/** The ordinary client of `ws`, with what it receives kept in order. */
export class Client implements Disposable {
  readonly ws: WebSocket;
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #received: (string | Buffer)[] = [];
  readonly #takers: ((message: string | Buffer) => void)[] = [];

  private constructor(ws: WebSocket) {
    this.ws = ws;
    ws.on("message", (data: Buffer, isBinary) => {
      const message = isBinary ? data : data.toString();
      const taker = this.#takers.shift();
      if (taker) taker(message);
      else this.#received.push(message);
    });
    ws.on("error", () => {});
    this.closed = new Promise((resolve) => {
      ws.on("close", (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }

  static async connect(
    url: string,
    options: ConstructorParameters<typeof WebSocket>[2] = {},
    protocols: string[] = [],
  ): Promise<Client> {
    const ws = new WebSocket(url, protocols, { perMessageDeflate: false, ...options });
    const client = new Client(ws);
    await new Promise((resolve, reject) => {
      ws.once("open", resolve);
      ws.once("error", reject);
    });
    return client;
  }

  next(): Promise<string | Buffer> {
    const message = this.#received.shift();
    if (message !== undefined) return Promise.resolve(message);
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  [Symbol.dispose](): void {
    this.ws.terminate();
  }
}
