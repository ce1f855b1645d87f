import type { Http2Session, ServerHttp2Stream } from "node:http2";
import { keepAlive } from "../wire/keep-alive.js";

export interface SessionSettings {
  /** Seconds between two pings to a client; 0 for none. */
  readonly keepaliveInterval: number;
  /** Seconds for the response to a ping. */
  readonly keepaliveTimeout: number;
  /** Calls of one connection at once. */
  readonly maxConcurrentStreams: number;
}

interface Watched {
  /** Calls whose handlers run, also of clients that have cancelled them. */
  running: number;
}

/** The connections that calls come from. The transport bounds what their clients send; here are the parts of gRPC. */
export class Sessions {
  readonly #watched = new WeakMap<Http2Session, Watched>();

  constructor(private readonly settings: SessionSettings) {}

  /** False if too many handlers run for the connection: a client that cancels cannot have more than one that waits. */
  admit({ session }: ServerHttp2Stream): boolean {
    return session !== undefined && this.#of(session).running < this.settings.maxConcurrentStreams;
  }

  /** Counts a call until its handler has ended, whatever its client does. Returns the function that ends it. */
  begin({ session }: ServerHttp2Stream): () => void {
    const watched = this.#of(session!);
    watched.running++;
    return () => {
      watched.running--;
    };
  }

  #of(session: Http2Session): Watched {
    let watched = this.#watched.get(session);
    if (watched === undefined) {
      this.#watched.set(session, (watched = { running: 0 }));
      // A client that has closed its end takes nothing any more: without this, a handler that waits for it would wait on.
      session.socket?.once("end", () => session.destroy());
      // A client that has disappeared without notice would keep its calls without end.
      keepAlive(session, this.settings);
    }
    return watched;
  }
}
