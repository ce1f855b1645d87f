import http2, { type ClientHttp2Session } from "node:http2";
import { GrpcError } from "../grpc-error.js";
import { keepAlive } from "../wire/keep-alive.js";
import type { ChannelSettings } from "./channel-options.js";

/** One connection to the server. It is made when a call needs it, and again after it was lost. */
export class Connection {
  #session: ClientHttp2Session | null = null;
  #connecting: Promise<ClientHttp2Session> | null = null;
  #calls = 0;
  #closed = false;

  constructor(
    private readonly settings: ChannelSettings,
    private readonly url: URL,
  ) {}

  get host(): string {
    return this.url.host;
  }

  /** The session, if there is one that takes calls. */
  get open(): ClientHttp2Session | null {
    const session = this.#session;
    return session === null || session.closed || session.destroyed ? null : session;
  }

  /** The session for a new call. Rejects with UNAVAILABLE if there is none within `connectTimeout`. */
  ready(): ClientHttp2Session | Promise<ClientHttp2Session> {
    const { open } = this;
    if (open !== null) return open;
    if (this.#closed) return Promise.reject(new GrpcError("CANCELLED", "the channel has been closed"));
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  /** Counts the calls: a connection without any does not keep the process alive. */
  begin(session: ClientHttp2Session): () => void {
    if (this.#calls++ === 0) session.ref();
    return () => {
      if (--this.#calls === 0 && !session.destroyed) session.unref();
    };
  }

  close(): void {
    this.#closed = true;
    this.#session?.destroy();
    this.#session = null;
  }

  #connect(): Promise<ClientHttp2Session> {
    const { tls, connectTimeout } = this.settings;
    const url = this.url;
    return new Promise((resolve, reject) => {
      const session = http2.connect(url.origin, {
        ...pemOf(tls),
        settings: { enablePush: false, initialWindowSize: 262_144 },
        maxSessionMemory: 64,
      } as http2.SecureClientSessionOptions);
      let timer: NodeJS.Timeout | undefined;
      const fail = (error?: Error): void => {
        clearTimeout(timer);
        reject(unavailable(url, error));
      };
      timer = setTimeout(() => {
        fail(new Error(`no connection within ${connectTimeout} s`));
        session.destroy();
      }, connectTimeout * 1000);
      session.on("error", fail);
      session.once("close", () => fail());
      // The settings of the server, not the socket alone: whatever listens there speaks HTTP/2.
      session.once("remoteSettings", () => {
        clearTimeout(timer);
        if (this.#closed) return session.destroy();
        session.setLocalWindowSize(1_048_576);
        this.#session = session;
        // An idle connection needs no life signs; servers refuse clients that ping without calls.
        keepAlive(session, this.settings, () => this.#calls > 0);
        session.unref();
        resolve(session);
      });
      // Calls in flight continue; new ones get another connection.
      session.on("goaway", () => {
        if (this.#session === session) this.#session = null;
        session.close();
      });
    });
  }
}

function pemOf(tls: ChannelSettings["tls"]): object {
  return Object.fromEntries(
    Object.entries(tls).map(([name, value]) => [name, value instanceof Uint8Array ? Buffer.from(value) : value]),
  );
}

function unavailable(url: URL, cause: Error | undefined): GrpcError {
  const reason =
    cause === undefined ? "the connection was closed" : cause.message || String((cause as NodeJS.ErrnoException).code);
  return new GrpcError("UNAVAILABLE", `cannot connect to ${url.host}: ${reason}`, { cause });
}
