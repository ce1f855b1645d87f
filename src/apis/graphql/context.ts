import { setMaxListeners } from "node:events";
import type { Database } from "../../engines/db/database.js";
import type { Request, RequestContext } from "../../http/request.js";
import { LoadedValues, type Loader } from "./loader.js";

/** The third argument of every resolver. */
export class GraphqlContext {
  /** The HTTP request, or the request that became the WebSocket. */
  readonly request: Request;
  readonly #end: OperationEnd;
  #loaders: Map<unknown, LoadedValues<unknown, unknown, GraphqlContext>> | null = null;
  #db: Database | null = null;

  /** @internal */
  constructor(request: Request, end: OperationEnd = new OperationEnd(request)) {
    this.request = request;
    this.#end = end;
  }

  /** Values that middleware passed on, such as `user` and `jwt_claims`. */
  get context(): RequestContext {
    return this.request.context;
  }

  /** The database; needs `app.enableDatabase()`. Its statements are cancelled when `signal` is aborted. */
  get db(): Database {
    return (this.#db ??= this.request.db.withSignal(this.signal));
  }

  /**
   * Aborted when the client disconnects or completes the operation, the request times out, the subscription ends, or an
   * error has decided the result before this resolver has ended.
   */
  get signal(): AbortSignal {
    return this.#end.signal;
  }

  /** @internal Aborts the signal: what resolvers still return is not used. */
  abort(): void {
    this.#end.abort();
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

/** The end of an operation before its resolvers have ended. */
export class OperationEnd {
  #controller: AbortController | null = null;
  #aborted = false;

  /** Null for an operation that does not end with its request alone: one of a WebSocket. */
  constructor(private readonly request: Request | null) {}

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      // One for each statement that runs.
      setMaxListeners(0, this.#controller.signal);
      if (this.#aborted) this.#controller.abort();
      else this.request?.onAbort((reason) => this.#controller!.abort(reason));
    }
    return this.#controller.signal;
  }

  abort(): void {
    this.#aborted = true;
    this.#controller?.abort();
  }
}
