import { type Checks, is, isPlainObject, readOptions } from "../../internal/options.js";
import { ValueError } from "../../internal/value-error.js";

export interface PersistedOptions {
  /** The documents by id or by SHA-256 hash. A function may look an id up elsewhere. */
  operations?:
    | Readonly<Record<string, string>>
    | ((id: string) => string | null | undefined | Promise<string | null | undefined>);
  /** Refuses operations that are not persisted. Default false. */
  only?: boolean;
  /** Lets clients register documents by their SHA-256 hash (automatic persisted queries). Default false. */
  automatic?: boolean;
}

export interface PersistedSettings {
  readonly find: ((id: string) => string | null | undefined | Promise<string | null | undefined>) | null;
  readonly only: boolean;
  readonly automatic: boolean;
}

const checks: Checks<PersistedOptions> = {
  operations: is.either(is.function, (value) =>
    isPlainObject(value) && Object.values(value).every((text) => typeof text === "string")
      ? undefined
      : "an object of documents by id",
  ),
  only: is.boolean,
  automatic: is.boolean,
};

export function readPersisted(given: unknown): PersistedSettings {
  const options = readOptions<PersistedOptions>("option 'persisted' of GraphQLConfig", given, checks);
  const { operations, only = false, automatic = false } = options;
  if (only && operations === undefined) throw new ValueError("option 'only' of 'persisted' needs 'operations'");
  if (only && automatic)
    throw new ValueError("option 'persisted' of GraphQLConfig takes 'only' or 'automatic', not both");
  const known = typeof operations === "object" ? new Map(Object.entries(operations)) : null;
  return {
    find: known ? (id) => known.get(id) : typeof operations === "function" ? operations : null,
    only,
    automatic,
  };
}
