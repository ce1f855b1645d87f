import { type OptionsOf, option, options } from "../../kit/config.js";
import { type Check, is, isPlainObject } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";

type Find = (id: string) => string | null | undefined | Promise<string | null | undefined>;

const areDocuments: Check<Readonly<Record<string, string>>> = (value) =>
  isPlainObject(value) && Object.values(value).every((text) => typeof text === "string")
    ? undefined
    : "an object of documents by id";

const persistedOptions = options("option 'persisted' of GraphQLConfig", {
  /** The documents by id or by SHA-256 hash. A function may look an id up elsewhere. */
  operations: option<Readonly<Record<string, string>> | Find>(is.either(is.function, areDocuments)),
  /** Refuses operations that are not persisted. Default false. */
  only: option(is.boolean, false),
  /** Lets clients register documents by their SHA-256 hash (automatic persisted queries). Default false. */
  automatic: option(is.boolean, false),
});

export interface PersistedOptions extends OptionsOf<typeof persistedOptions.fields> {}

export interface PersistedSettings {
  readonly find: Find | null;
  readonly only: boolean;
  readonly automatic: boolean;
}

export function readPersisted(given: unknown): PersistedSettings {
  const { operations, only, automatic } = persistedOptions.read([given]);
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
