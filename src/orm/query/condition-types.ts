/** The types that check conditions and expressions against a model. */

import type { AnyExpression, Fitting, OuterField, outerPaths } from "../expressions/expression.js";
import type { ConditionsOf, expressionMark, Given, Numbers, PathsOf, Suggestible, Uses } from "../expressions/q.js";
import type {
  CompositeNames,
  FieldsOf,
  JsonNames,
  KindOf,
  OutOf,
  PrimaryKey,
  RelationNames,
  TargetFields,
} from "../fields/types.js";
import type {
  AnyName,
  CheckedOrderPath,
  CheckedPath,
  CheckedSinglePath,
  Name,
  NamePattern,
  NoSuchField,
  NotNumbers,
  OwnNames,
} from "./path-types.js";
import type { KeySuggestions, LookupValue, NoSuchLookup, WhereKeys } from "./where-types.js";

declare const suggestion: unique symbol;

/**
 * The condition of a filter: lookups with the types that they must have, a `Q` or an expression whose names exist. `K` are
 * the keys of the lookups, `P` and `X` the names in a `Q` or an expression. `B` is the whole argument; it is not
 * known while an editor asks for suggestions.
 */
export type CheckedCondition<M, A, K extends Name, P extends string, X, B> = [AnyName] extends [K]
  ? object | B
  : [Unused] extends [X]
    ? Where<M, A, K, B> | NoInfer<SuggestedWhere<M, A, K> | Unwritten<M, A, K, B>>
    : [B] extends [never]
      ? NoInfer<Suggestible<Given<AllLookups<M, A>>>>
      : CheckedUses<M, A, P, X>;

declare const unused: unique symbol;
/** The type argument for the lookups of a `Q`, if the condition is no `Q`. */
export type Unused = typeof unused;

/** Lookups alone, as the key of a row. */
export type CheckedWhere<M, A, K extends Name, B> = [AnyName] extends [K]
  ? object | B
  : Where<M, A, K, B> | NoInfer<SuggestedWhere<M, A, K> | Unwritten<M, A, K, B>>;

/** Lookups by their keys. */
type Where<M, A, K extends Name, B> = {
  readonly [Key in K]: NoInfer<
    Operand<M, A, LookupValue<FieldsOf<M>, A, Key & string>, Key extends keyof B ? B[Key] : never>
  >;
};

type Missing = NoSuchField<string> | NoSuchLookup<string>;

/** Expressions are allowed where one is written: the error of another value then names the type of the value alone. */
type Operand<M, A, Value, Written> = [Value] extends [Missing]
  ? Value
  : [Extract<Written, Marked>] extends [never]
    ? Value
    : Value | ExpressionFor<Value, M, A> | OuterField<string>;

interface Marked {
  readonly [expressionMark]: true;
}

/** The keys that an editor suggests next to a key that does not exist. No object has this type. */
type SuggestedWhere<M, A, K extends Name> = K extends string
  ? [LookupValue<FieldsOf<M>, A, K>] extends [Missing]
    ? Suggested & {
        readonly [Key in WhereKeys<FieldsOf<M>, A> | KeySuggestions<FieldsOf<M>, K>]?: LookupValue<FieldsOf<M>, A, Key>;
      }
    : never
  : never;

/** All keys, while an object is being typed. */
type Unwritten<M, A, K extends Name, B> = [Unused] extends [B]
  ? Suggested & { readonly [Key in WhereKeys<FieldsOf<M>, A> | (K & string)]?: LookupValue<FieldsOf<M>, A, Key> }
  : never;

/** All keys, while the lookups of a `Q` are being typed: the type of the whole argument is then never. */
type AllLookups<M, A> = { readonly [Key in WhereKeys<FieldsOf<M>, A>]?: LookupValue<FieldsOf<M>, A, Key> };

interface Suggested {
  readonly [suggestion]: never;
}

/** An expression in place of a value of type `Value`. The fields that it reads exist, and have a fitting type. */
export interface ExpressionFor<Value, M, A>
  extends Fitting<FittingNames<FieldsOf<M>, A, Value>, NamePattern<FieldsOf<M>, A>, KeyPattern<FieldsOf<M>, A>> {}

type FittingNames<F, A, Value> =
  | ({ [K in keyof F]: Comparable<F[K]> extends Value ? K : never }[keyof F] & string)
  | ({ [K in keyof A]: NonNullable<A[K]> extends Value ? K : never }[keyof A] & string)
  | Exclude<OwnNames<F>, keyof F>
  | "pk"
  | `${RelationNames<F> | JsonNames<F>}__${string}`;

/** The type by which a field is compared. Numbers of all kinds can be compared with one another. */
type Comparable<Field> =
  KindOf<Field> extends "int" | "bigInt" | "float" | "decimal"
    ? number
    : KindOf<Field> extends "toOne" | "toMany" | "reverseOne" | "composite"
      ? PrimaryKey<TargetFields<Field>>
      : KindOf<Field> extends "local" | "date"
        ? string
        : NonNullable<OutOf<Field>>;

type KeyPattern<F, A> = LookupNames<F, A> | `${LookupNames<F, A>}__${string}`;
type LookupNames<F, A> = OwnNames<F, A> | CompositeNames<F> | "pk";

/** An expression or `Q`, if the names in it exist. */
export type CheckedUses<M, A, P extends string, X> = Uses<P, X> & NoInfer<PathErrors<M, A, P> & LookupErrors<M, A, X>>;

/** Nothing to add if all paths exist; otherwise the names that exist, which the path is not one of. */
type PathErrors<M, A, P extends string> = [P] extends [never]
  ? unknown
  : [P] extends [CheckedPath<FieldsOf<M>, A, P>]
    ? unknown
    : Uses<Extract<CheckedPath<FieldsOf<M>, A, P>, string>, unknown>;

/** Nothing to add if all lookups exist and their values fit; otherwise the lookups with the types that they must have. */
type LookupErrors<M, A, X> = [X] extends [never]
  ? unknown
  : ErrorsIn<WrongLookups<M, A, X>> & NumberErrors<FieldsOf<M>, A, X>;
type ErrorsIn<Wrong> = [Wrong] extends [never] ? unknown : Uses<string, { readonly lookups: Wrong }>;

type NumberErrors<F, A, X> = [Extract<X, Numbers<string>>] extends [never]
  ? unknown
  : ErrorOfNumber<NotNumbers<F, A, Extract<X, Numbers<string>>["numbers"]>>;
type ErrorOfNumber<Wrong> = [Wrong] extends [never] ? unknown : NotANumber<Wrong>;

/** A field in a sum or an average that holds no numbers; the compiler shows this in its message. */
export interface NotANumber<Path> {
  readonly "this field holds no numbers": Path;
}

type WrongLookups<M, A, X> = X extends { readonly path: infer Path extends string; readonly lookups: infer W }
  ? Unfit<AfterMany<FieldsOf<M>, Path>, unknown, W>
  : X extends { readonly lookups: infer W }
    ? Unfit<FieldsOf<M>, A, W>
    : never;

/** Never if the lookups fit. Editors suggest the keys of the other types. */
type Unfit<F, A, W> =
  W extends CheckedLookups<F, A, W>
    ? [keyof W] extends [never]
      ? SuggestedLookups<F, A, "">
      : never
    : CheckedLookups<F, A, W> & SuggestedLookups<F, A, keyof W & string>;

type SuggestedLookups<F, A, K extends string> = {
  readonly [Key in WhereKeys<F, A> | KeySuggestions<F, K>]?: LookupValue<F, A, Key> | AnyExpression;
};

type CheckedLookups<F, A, W> = {
  readonly [Key in keyof W]:
    | LookupValue<F, A, Key & string>
    | ([LookupValue<F, A, Key & string>] extends [Missing] ? never : AnyExpression);
};

/** The fields of the rows that an aggregate reads: those of the to-many relation on its path, if there is one. */
type AfterMany<F, Path extends string> = [ManyTarget<F, Path>] extends [never] ? F : ManyTarget<F, Path>;

type ManyTarget<F, Path extends string> = Path extends `${infer Head}__${infer Rest}`
  ? Head extends keyof F
    ? KindOf<F[Head]> extends "toMany"
      ? TargetFields<F[Head]>
      : KindOf<F[Head]> extends "toOne" | "reverseOne" | "composite"
        ? ManyTarget<TargetFields<F[Head]>, Rest>
        : never
    : never
  : Path extends keyof F
    ? KindOf<F[Path]> extends "toMany"
      ? TargetFields<F[Path]>
      : never
    : never;

/** An expression if the names in it exist; otherwise an expression with names that exist, which editors suggest. */
export type CheckedExpression<M, A, E> = [PathsOf<E>] extends [CheckedPath<FieldsOf<M>, A, PathsOf<E>>]
  ? [ConditionsOf<E>] extends [never]
    ? E
    : unknown extends LookupErrors<M, A, ConditionsOf<E>>
      ? E
      : NoInfer<LookupErrors<M, A, ConditionsOf<E>>>
  : NoInfer<Uses<Extract<CheckedPath<FieldsOf<M>, A, PathsOf<E>>, string>, unknown>>;

/** A key of `orderBy`: a path, or an expression whose names exist. */
export type CheckedOrder<M, A, Key> = [AnyName] extends [Key] ? unknown : KnownOrder<M, A, Key>;
type KnownOrder<M, A, Key> = Key extends string ? CheckedOrderPath<FieldsOf<M>, A, Key> : CheckedExpression<M, A, Key>;

/** A key of a filter if it exists; otherwise the keys that exist, which editors suggest. */
export type CheckedKey<F, A, Key> = Key extends string
  ? [LookupValue<F, A, Key>] extends [Missing]
    ? NoInfer<string extends Key ? WhereKeys<F, A> | AnyText : WhereKeys<F, A> | KeySuggestions<F, Key>>
    : Key
  : never;

/** Text that is not known before the program runs. Editors still suggest the names beside it. */
export type AnyText = string & Record<never, never>;

/** A field of `orderFrom`; text that is not known yet is checked when the program runs. */
export type CheckedClientOrder<F, A, Key> = string extends Key
  ? NoInfer<CheckedSinglePath<F, A, "">> | AnyText
  : CheckedSinglePath<F, A, Key>;

/** A name that a field has already; the compiler shows this in its message. */
export interface NameOfField<Name> {
  readonly "this is the name of a field": Name;
}

/** The annotations of `annotate`, if the names in them exist. */
export type CheckedAnnotation<M, A, E, K = never> = [AnyName] extends [E]
  ? unknown
  : [E] extends [never]
    ? NoInfer<Suggestible<Given<AllLookups<M, A>>>>
    : [K] extends [never]
      ? CheckedExpression<M, A, E>
      : K extends keyof FieldsOf<M>
        ? NameOfField<K>
        : CheckedExpression<M, A, E>;

/** The annotations of a queryset, with the fields of the query around it that it reads. */
export type WithOuter<A, B> = [OuterIn<B>] extends [never] ? A : A & { readonly [outerPaths]: OuterIn<B> };
export type OuterIn<B> = B extends Unused ? never : B[keyof B] extends infer Value ? OuterPath<Value> : never;
type OuterPath<Value> = Value extends OuterField<infer Path> ? Path : never;
export type OuterOf<A> = A extends { readonly [outerPaths]: infer O extends string } ? O : never;
