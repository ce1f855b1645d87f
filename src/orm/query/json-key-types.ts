/** The types of single keys inside of JSON columns, for `update({ settings__theme: "dark" })`. */

import type { Unset } from "../compile/json/json-patch.js";
import type { AnyExpression } from "../expressions/expression.js";
import type { FieldsOf, JsonNames, OutOf } from "../fields/types.js";
import type { JsonValue } from "./path-types.js";

/** Keys of the JSON columns of a model, with the types of their values. */
export type JsonKeysInput<M> = KeysOf<FieldsOf<M>>;

type KeysOf<F> = [JsonNames<F>] extends [never]
  ? unknown
  : { readonly [K in KeyPaths<F>]?: ValueAt<F, K> | AnyExpression | Unset };

type KeyPaths<F> = { [N in JsonNames<F>]: `${N}__${PathsIn<NonNullable<OutOf<F[N]>>, [1, 1, 1, 1]>}` }[JsonNames<F>];

/** The paths of keys in a JSON value, up to a depth. A value of any type takes any keys. */
type PathsIn<T, Depth extends readonly unknown[]> = unknown extends T
  ? string
  : T extends readonly unknown[]
    ? `${number}`
    : T extends object
      ? AnyKeys<T> extends true
        ? string
        : { [K in keyof T & string]: K | Deeper<K, NonNullable<T[K]>, Depth> }[keyof T & string]
      : never;

/** True for an object whose keys are not known, such as `{}`. */
type AnyKeys<T> = string extends keyof T ? true : [keyof T] extends [never] ? true : false;

type Deeper<K extends string, T, Depth extends readonly unknown[]> = Depth extends readonly [unknown, ...infer Rest]
  ? `${K}__${PathsIn<T, Rest>}`
  : never;

type ValueAt<F, Path> = Path extends `${infer Name extends JsonNames<F>}__${infer Rest}`
  ? Known<JsonValue<NonNullable<OutOf<F[Name]>>, Rest>>
  : never;

/** The keys are checked before: a value without a type can be anything. */
type Known<Value> = [Value] extends [never] ? unknown : Value;
