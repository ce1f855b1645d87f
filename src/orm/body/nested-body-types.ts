/** The types of bodies with related rows. Nothing here exists at run time. */

import type {
  FieldsOf,
  KeyAttribute,
  KindOf,
  PrimaryKey,
  ReverseOneNames,
  TargetFields,
  ToManyNames,
  ToOneNames,
  ViaOf,
} from "../fields/types.js";
import type { FieldsBody } from "./body-types.js";

/** The type of a body with `body: nested(Author, "books", "books__tags")`. */
export type NestedBody<M, P extends string> = RowBody<FieldsOf<M>, P, never>;

type RowBody<F, P extends string, Back extends string> = Omit<FieldsBody<F>, KeyAttribute<Back>> & {
  [K in HeadOf<P> & keyof F]?: KindOf<F[K]> extends "toMany"
    ? ItemOf<F[K], TailOf<P, K & string>>[]
    : ItemOf<F[K], TailOf<P, K & string>> | null;
};

type ItemOf<Field, P extends string> =
  ViaOf<Field> extends infer Via extends string
    ? [Via & ToOneNames<TargetFields<Field>>] extends [never]
      ? RowBody<TargetFields<Field>, P, never> | PrimaryKey<TargetFields<Field>>
      : RowBody<TargetFields<Field>, P, Via>
    : never;

type HeadOf<P extends string> = P extends `${infer Head}__${string}` ? Head : P;
type TailOf<P extends string, Head extends string> = P extends `${Head}__${infer Tail}` ? Tail : never;

/** A path of relations whose rows refer to the row before them. */
export type CheckedNested<M, P extends string> =
  IsNested<FieldsOf<M>, P> extends true ? P : NoInfer<NestedNames<FieldsOf<M>>>;

type NestedNames<F> = ToManyNames<F> | ReverseOneNames<F>;

type IsNested<F, P extends string> = P extends `${infer Head}__${infer Tail}`
  ? Head extends NestedNames<F>
    ? IsNested<TargetFields<F[Head & keyof F]>, Tail>
    : false
  : P extends NestedNames<F>
    ? true
    : false;
