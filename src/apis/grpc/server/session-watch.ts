import { constants, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Request } from "../../../http/request.js";
import type { GrpcConfig } from "../config.js";

/** Milliseconds for a client to speak HTTP/2 after it has connected. */
const firstSettings = 10_000;
/** Milliseconds in which pings and cancelled calls are counted. */
const countingTime = 10_000;
/** Pings of a client in that time: it asks for life signs every 20 ms. */
const maxPings = 500;
/** Calls that a client cancels in that time. */
const maxCancelled = 1000;

/** Watches one connection: keeps it alive, and ends it if its client floods the server. */
export class SessionWatch {
  readonly #session: ServerHttp2Session;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #maxRunning: number;
  #countedSince = performance.now();
  #pings = 0;
  #cancelled = 0;
  /** Calls whose handlers run, also of clients that have cancelled them. */
  #running = 0;

  constructor(session: ServerHttp2Session, config: GrpcConfig) {
    this.#session = session;
    this.#maxRunning = config.maxConcurrentStreams * 2;
    const silent = setTimeout(() => session.destroy(), firstSettings);
    session.once("remoteSettings", () => clearTimeout(silent));
    this.#timers.push(silent);
    session.on("ping", () => {
      this.#count();
      if (++this.#pings > maxPings) this.#calm("too_many_pings");
    });
    if (config.keepaliveInterval > 0) this.#keepAlive(config.keepaliveInterval * 1000, config.keepaliveTimeout * 1000);
  }

  /** False if the call is refused: too many handlers of cancelled calls still run. */
  admit(stream: ServerHttp2Stream): boolean {
    if (this.#running >= this.#maxRunning) {
      stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
      return false;
    }
    stream.once("aborted", () => {
      this.#count();
      if (++this.#cancelled > maxCancelled) this.#calm("too_many_resets");
    });
    return true;
  }

  /** The handler of a call runs until the request is finished. */
  begin(request: Request): void {
    this.#running++;
    request.onFinish(() => {
      this.#running--;
    });
  }

  end(): void {
    for (const timer of this.#timers) clearTimeout(timer);
  }

  #count(): void {
    const now = performance.now();
    if (now - this.#countedSince < countingTime) return;
    this.#countedSince = now;
    this.#pings = 0;
    this.#cancelled = 0;
  }

  #calm(reason: string): void {
    const session = this.#session;
    if (session.destroyed) return;
    session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, Buffer.from(reason));
    session.destroy();
  }

  #keepAlive(interval: number, timeout: number): void {
    const session = this.#session;
    const timer = setInterval(() => {
      if (session.destroyed) return;
      const late = setTimeout(() => session.destroy(), timeout);
      late.unref();
      const sent = session.ping((error) => {
        if (error === null) clearTimeout(late);
      });
      if (!sent) clearTimeout(late);
    }, interval);
    timer.unref();
    this.#timers.push(timer);
  }
}
