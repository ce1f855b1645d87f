import type { Authority } from "../../http/authority.js";

/** Begins to watch the session of a token; the function that is returned ends it. */
export type WatchSession = (token: string, end: () => void) => () => void;

/** The session of a request that lasts, such as a WebSocket. */
export class SessionAuthority implements Authority {
  readonly #watch: WatchSession;
  #token: string | null;
  #end: (() => void) | null = null;
  #stop: (() => void) | null = null;

  constructor(watch: WatchSession, token: string | null) {
    this.#watch = watch;
    this.#token = token;
  }

  watch(end: () => void): () => void {
    this.#end = end;
    this.#begin();
    return () => {
      this.#end = null;
      this.#leave();
    };
  }

  /** The request itself replaces its session: the end of the former one must not end it. */
  leave(): void {
    this.#token = null;
    this.#leave();
  }

  /** The session that the request has made is stored. */
  follow(token: string): void {
    this.#token = token;
    this.#begin();
  }

  #begin(): void {
    if (this.#token !== null && this.#end !== null) this.#stop = this.#watch(this.#token, this.#end);
  }

  #leave(): void {
    this.#stop?.();
    this.#stop = null;
  }
}
