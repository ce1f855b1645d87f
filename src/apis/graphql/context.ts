import type { Database } from "../../engines/db/database.js";
import type { Request, RequestContext } from "../../http/request.js";
import { LoadedValues, type Loader } from "./loader.js";

/** The third argument of every resolver. */
export class GraphqlContext {
  /** The HTTP request, or the request that became the WebSocket. */
  readonly request: Request;
  readonly #signal: AbortSignal | null;
  #loaders: Map<unknown, LoadedValues<unknown, unknown, GraphqlContext>> | null = null;

  /** @internal `signal` is that of one operation of a WebSocket; without it, that of the request. */
  constructor(request: Request, signal: AbortSignal | null = null) {
    this.request = request;
    this.#signal = signal;
  }

  /** Values that middleware passed on, such as `user` and `jwt_claims`. */
  get context(): RequestContext {
    return this.request.context;
  }

  /** The database; needs `app.enableDatabase()`. */
  get db(): Database {
    return this.request.db;
  }

  /** Aborted when the client disconnects or completes the operation, the request times out, or the subscription ends. */
  get signal(): AbortSignal {
    return this.#signal ?? this.request.signal;
  }

  /**
   * Loads a value together with all others that are asked for at the same time. Each key is loaded once per operation; in a
   * subscription, once per event.
   */
  load<Key, Value>(loader: Loader<Key, Value, GraphqlContext>, key: Key): Promise<Value | null> {
    return this.#of(loader).load(key);
  }

  loadMany<Key, Value>(loader: Loader<Key, Value, GraphqlContext>, keys: readonly Key[]): Promise<(Value | null)[]> {
    const values = this.#of(loader);
    return Promise.all(keys.map((key) => values.load(key)));
  }

  /** Forgets a loaded value, after a mutation has changed it. */
  clear<Key, Value>(loader: Loader<Key, Value, GraphqlContext>, key: Key): void {
    this.#of(loader).clear(key);
  }

  /** @internal Forgets all loaded values: those of an event are old when the next one comes, and would stay until the end. */
  forgetLoaded(): void {
    this.#loaders = null;
  }

  #of<Key, Value>(loader: Loader<Key, Value, GraphqlContext>): LoadedValues<Key, Value, GraphqlContext> {
    const loaders = (this.#loaders ??= new Map()) as Map<unknown, LoadedValues<Key, Value, GraphqlContext>>;
    let values = loaders.get(loader);
    if (values === undefined)
      loaders.set(loader, (values = new LoadedValues<Key, Value, GraphqlContext>(loader, this)));
    return values;
  }
}
