/**
 * The types of names such as `author__country__name`. The compiler's work depends on the names in use, not on all
 * possible names.
 */

import type { PathRef, PathsOf, ResultOf } from "../expressions/expression.js";
import type {
  ColumnNames,
  FieldsOf,
  ForeignKeyValue,
  KeyAttribute,
  KindOf,
  OutOf,
  PrimaryKey,
  RelationNames,
  RelationOfAttribute,
  TargetFields,
  ToOneNames,
} from "../fields/types.js";

/** A name that does not exist; the compiler shows this in its message. */
export interface NoSuchField<Name extends string> {
  readonly "no such field": Name;
}

/** The value at the end of a path. `F` are the fields of the model, `A` its annotations. */
export type PathValue<F, A, Path extends string> = Path extends keyof A
  ? A[Path]
  : Path extends "pk"
    ? PrimaryKey<F>
    : Path extends keyof F
      ? FieldValue<F[Path]>
      : RelationOfAttribute<F, Path> extends infer Relation extends keyof F & string
        ? [Relation] extends [never]
          ? ThroughRelation<F, Path>
          : ForeignKeyValue<F[Relation]>
        : ThroughRelation<F, Path>;

type FieldValue<Field> =
  KindOf<Field> extends "toOne"
    ? ForeignKeyValue<Field>
    : KindOf<Field> extends "toMany" | "reverseOne"
      ? PrimaryKey<TargetFields<Field>> | null
      : OutOf<Field>;

type ThroughRelation<F, Path extends string> = Path extends `${infer Head}__${infer Rest}`
  ? Head extends RelationNames<F>
    ? KindOf<F[Head]> extends "toOne"
      ? MaybeNull<F[Head], PathValue<TargetFields<F[Head]>, unknown, Rest>>
      : PathValue<TargetFields<F[Head]>, unknown, Rest> | null
    : Head extends ColumnNames<F>
      ? KindOf<F[Head]> extends "json"
        ? JsonValue<OutOf<F[Head]>, Rest>
        : NoSuchField<Path>
      : NoSuchField<Path>
  : NoSuchField<Path>;

type MaybeNull<Field, Value> = null extends ForeignKeyValue<Field> ? Value | null : Value;

/** The type at a path of keys inside a JSON value; unknown if the type of the JSON value is unknown. */
export type JsonValue<T, Path extends string> = unknown extends T
  ? unknown
  : Path extends `${infer Head}__${infer Rest}`
    ? JsonValue<JsonMember<T, Head>, Rest>
    : JsonMember<T, Path>;

type JsonMember<T, Key extends string> = T extends readonly (infer Item)[]
  ? Key extends `${number}`
    ? Item
    : never
  : T extends object
    ? Key extends keyof T
      ? T[Key]
      : string extends keyof T
        ? T[keyof T]
        : never
    : never;

/** The path if it exists; otherwise a type that makes the compiler report an error. */
export type CheckedPath<F, A, Path> = Path extends string
  ? PathValue<F, A, Path> extends NoSuchField<string>
    ? NoSuchField<Path>
    : Path
  : Path;

/** Paths for `orderBy`: with `-` in front for descending; `?` is random. */
export type CheckedOrder<F, A, Path> = Path extends "?"
  ? Path
  : Path extends `-${infer Name}`
    ? CheckedPath<F, A, Name> extends Name
      ? Path
      : NoSuchField<Name>
    : Path extends string
      ? CheckedPath<F, A, Path>
      : CheckedExpression<F, A, Path>;

/** An expression if every field it reads exists. */
export type CheckedExpression<F, A, E> = [PathsOf<E>] extends [never]
  ? E
  : { [P in PathsOf<E>]: CheckedPath<F, A, P> }[PathsOf<E>] extends PathsOf<E>
    ? E
    : NoSuchField<PathsOf<E>>;

/** The type of an expression's result on a model. References to fields are resolved on that model. */
export type ExpressionValue<F, A, E> = Deref<F, A, ResultOf<E>>;

type Deref<F, A, T> =
  T extends PathRef<infer Path> ? PathValue<F, A, Path> : T extends PathRef<infer Path>[] ? PathValue<F, A, Path>[] : T;

/** The names that editors suggest: the model's own columns and the keys of its relations. */
export type OwnNames<M> = ColumnNames<FieldsOf<M>> | ToOneNames<FieldsOf<M>> | KeyAttribute<ToOneNames<FieldsOf<M>>>;
