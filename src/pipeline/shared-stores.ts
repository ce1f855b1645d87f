/**
 * State that several workers and machines may have to share: counts of a rate limit, cached responses, circuits,
 * sessions, revoked tokens, rooms. A feature with such state requests a store by its kind and never decides alone where
 * the state lives.
 */

/** The kinds of shared stores. A feature adds its kind by merging into this interface. */
export interface SharedStores {}

/** Marks a store that keeps its state in the memory of one process. */
export const perProcess: unique symbol = Symbol("stoa.perProcess");

export interface StoreRequest<Store> {
  /** The state in words, for the log: "response cache". */
  readonly holds: string;
  /** The store that the user gave as an option, if any. It goes before all others. */
  readonly given?: Store | null | undefined;
  /** Makes the store to use where none is shared. */
  local(): Store;
}

/** Makes a store of all workers of a machine out of the store of one process. */
export type StoreExtension<Store> = (local: Store) => Store;

export interface StoreSource {
  /**
   * The store to use: the one given, else one that an engine shares, else the local one. A local one, and a given one of
   * one process, is extended to all workers of the machine where there are several. If that is not possible it is noted,
   * so that the log says so.
   */
  store<Kind extends keyof SharedStores>(kind: Kind, request: StoreRequest<SharedStores[Kind]>): SharedStores[Kind];
  /** True if an engine shares a store of this kind, which is used unless one is given. */
  shares(kind: keyof SharedStores): boolean;
  /** The store to use while that one fails: the local one, extended to all workers of the machine. */
  fallback<Kind extends keyof SharedStores>(kind: Kind, local: SharedStores[Kind]): SharedStores[Kind];
}

export function isPerProcess(store: object): boolean {
  return perProcess in store;
}
