import type { Cursor, CursorOptions, ExecuteResult, Queries, Row, SqlQuery, SqlTag } from "../database.js";
import { fragment, SqlFragment, sqlHelpers } from "./sql.js";

/** The tagged template of a database or a transaction. */
export function createSqlTag(queries: Queries): SqlTag {
  const tag = <R extends object = Row>(strings: TemplateStringsArray, ...values: readonly unknown[]): SqlQuery<R> => {
    const { parts, params } = fragment(strings, values);
    return new TaggedQuery<R>(parts, params, queries);
  };
  return Object.assign(tag, sqlHelpers);
}

/** Runs when it is awaited, or one of its forms is called; can also stand in another template. */
class TaggedQuery<R extends object> extends SqlFragment implements SqlQuery<R> {
  readonly #queries: Queries;

  constructor(parts: readonly string[], params: readonly unknown[], queries: Queries) {
    super(parts, params);
    this.#queries = queries;
  }

  // biome-ignore lint/suspicious/noThenProperty: awaiting a statement runs it
  then<A = R[], B = never>(
    fulfilled?: ((rows: R[]) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#queries.fetch<R>(this).then(fulfilled, rejected);
  }

  row(): Promise<R | null> {
    return this.#queries.fetchrow<R>(this);
  }

  val<V = unknown>(): Promise<V | null> {
    return this.#queries.fetchval<V>(this);
  }

  execute(): Promise<ExecuteResult> {
    return this.#queries.execute(this);
  }

  cursor(options?: CursorOptions): Cursor<R> {
    return this.#queries.cursor<R>(this, undefined, options);
  }
}
