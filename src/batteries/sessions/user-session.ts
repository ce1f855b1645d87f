import type { SessionData } from "./session.js";
import type { StoredSession } from "./store.js";

/** One of the sessions of a user, on whatever device. As JSON it has no data. */
export class UserSession {
  /** The same as `request.session.id` in a request of this session. */
  readonly id: string;
  /** When the user logged in. */
  readonly createdAt: Date;
  /** When it was last written: up to a tenth of `idleTimeout` before the last request that used it. */
  readonly activeAt: Date;
  readonly #data: StoredSession["data"];
  readonly #end: (id: string) => unknown;

  /** @internal */
  constructor(id: string, { created, active, data }: StoredSession, end: (id: string) => unknown) {
    this.id = id;
    this.createdAt = new Date(created * 1000);
    this.activeAt = new Date(active * 1000);
    this.#data = data;
    this.#end = end;
  }

  get<Key extends keyof SessionData>(key: Key): SessionData[Key] | undefined {
    return Object.hasOwn(this.#data, key) ? (this.#data[key as string] as SessionData[Key]) : undefined;
  }

  /** Ends it, in all processes, with its WebSockets and streams. */
  async end(): Promise<void> {
    await this.#end(this.id);
  }
}
