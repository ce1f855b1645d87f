// The types of fields, and the types of rows that follow from them. Nothing here exists at run time.

declare const types: unique symbol;
declare const kind: unique symbol;
declare const flags: unique symbol;
export declare const fieldsOf: unique symbol;
export declare const presence: unique symbol;
export declare const tableOf: unique symbol;
declare const compositeKey: unique symbol;
export declare const readOnlyRows: unique symbol;

/** The properties of a field besides its type. */
export type Flag = "null" | "optional" | "primary" | "locked" | "readOnly";

/**
 * A column. `Out` is the type of a value that is read, `In` of a value that is written. `Flags` are its other
 * properties.
 */
export interface Column<Out, In, Flags extends Flag, Kind extends string> {
  readonly [kind]: Kind;
  readonly [flags]: Flags;
  readonly [types]: { readonly out: Out; readonly in: In; readonly flags: Flags };
}

export interface ToOne<Target, Flags extends Flag> {
  readonly [kind]: "toOne";
  readonly [flags]: Flags;
  readonly [types]: { readonly target: Target };
}

/**
 * A foreign key over several fields. It has no column. `References` are the fields of the other model; never for
 * its primary key.
 */
export interface ToOneOver<Target, Flags extends Flag, Fields extends string, References = never> {
  readonly [kind]: "composite";
  readonly [flags]: Flags;
  readonly [types]: { readonly target: Target; readonly over: Fields; readonly references: References };
}

/** `Via` is the field of the other model that refers to this one; never for a many-to-many relation. */
export interface ToMany<Target, Via extends string = never> {
  readonly [kind]: "toMany";
  readonly [types]: { readonly target: Target; readonly via: Via };
}

/** The other side of a one-to-one relation: there may be no row. */
export interface ReverseOne<Target, Via extends string = never> {
  readonly [kind]: "reverseOne";
  readonly [types]: { readonly target: Target; readonly via: Via };
}

export type TypesOf<Field> = Field extends { readonly [types]: infer Types } ? Types : never;

/** The instances of a class. They are read from its prototype: the compiler would compute the parameters of a constructor. */
export type InstanceOf<Class> = Class extends { readonly prototype: infer Instance } ? Instance : never;

/** The fields of a model, found through its instances. */
export type FieldsOf<M> = M extends { readonly [fieldsOf]?: infer Fields } ? NonNullable<Fields> : never;

/** The fields of a model with the names of its composite primary key, in their order. */
export type WithKey<F, Names extends readonly string[]> = Names extends readonly [string, string, ...string[]]
  ? F & { readonly [compositeKey]: Names }
  : F;

type KeyFields<F> = F extends { readonly [compositeKey]: infer Names extends readonly string[] } ? Names : never;

/** True for the fields of a model with a composite primary key. */
export type HasCompositeKey<F> = typeof compositeKey extends keyof F ? true : false;

/** The fields of the model that a relation leads to. */
export type TargetFields<Field> = FieldsOf<TargetOf<Field>>;

/** The instances that a relation leads to. */
export type TargetOf<Field> = TypesOf<Field> extends { readonly target: infer Target } ? InstanceOf<Target> : never;

/** The field of the other model that refers to this one. */
export type ViaOf<Field> = TypesOf<Field> extends { readonly via: infer Via extends string } ? Via : never;

/** The fields of a foreign key over several fields. */
export type OverOf<Field> = TypesOf<Field> extends { readonly over: infer Over extends string } ? Over : never;

export type FlagsOf<Field> = Field[typeof flags & keyof Field];
export type KindOf<Field> = Field[typeof kind & keyof Field];
export type InOf<Field> = TypesOf<Field> extends { readonly in: infer In } ? In : never;

/** The type of a column's value in a row. */
export type OutOf<Field> =
  TypesOf<Field> extends { readonly out: infer Out; readonly flags: infer Flags }
    ? "null" extends Flags
      ? Out | null
      : Out
    : never;

/** The names of the fields in groups. They are computed once for a model; all unions of names are read from here. */
type NamesByGroup<F> = { readonly [K in keyof F as (GroupOf<KindOf<F[K]>> | FlagsOf<F[K]>) & string]: K & string };
type GroupOf<Kind> = Kind extends keyof RelationGroups
  ? RelationGroups[Kind]
  : Kind extends "json"
    ? "json" | "column"
    : "column";

interface RelationGroups {
  toOne: "toOne" | "single" | "relation";
  reverseOne: "reverseOne" | "single" | "relation";
  composite: "composite" | "single" | "relation";
  toMany: "toMany" | "relation";
}

/** The names of the fields that are not relations. */
export type ColumnNames<F> =
  NamesByGroup<F> extends { readonly column: infer Names extends keyof F & string } ? Names : never;
export type RelationNames<F> =
  NamesByGroup<F> extends { readonly relation: infer Names extends keyof F & string } ? Names : never;
export type ToManyNames<F> =
  NamesByGroup<F> extends { readonly toMany: infer Names extends keyof F & string } ? Names : never;
export type ReverseOneNames<F> =
  NamesByGroup<F> extends { readonly reverseOne: infer Names extends keyof F & string } ? Names : never;
/** The foreign keys over several fields. */
export type CompositeNames<F> =
  NamesByGroup<F> extends { readonly composite: infer Names extends keyof F & string } ? Names : never;
export type SingleNames<F> =
  NamesByGroup<F> extends { readonly single: infer Names extends keyof F & string } ? Names : never;
export type JsonNames<F> =
  NamesByGroup<F> extends { readonly json: infer Names extends keyof F & string } ? Names : never;
export type ToOneNames<F> =
  NamesByGroup<F> extends { readonly toOne: infer Names extends keyof F & string } ? Names : never;
export type PrimaryKeyNames<F> =
  | KeyFields<F>[number]
  | (NamesByGroup<F> extends { readonly primary: infer Names extends keyof F & string } ? Names : never);
export type OptionalNames<F> =
  NamesByGroup<F> extends { readonly optional: infer Names extends keyof F & string } ? Names : never;
export type LockedNames<F> =
  NamesByGroup<F> extends { readonly locked: infer Names extends keyof F & string } ? Names : never;

/** The property that holds the key of a relation: `author` has `authorId`, `parent_book` has `parent_book_id`. */
export type KeyAttribute<Name extends string> = Name extends `${string}_${string}` ? `${Name}_id` : `${Name}Id`;

/** The relation whose key a property holds; never if the property holds no key. */
export type RelationOfAttribute<F, Name extends string> = Name extends `${infer Relation}Id` | `${infer Relation}_id`
  ? Relation extends ToOneNames<F>
    ? KeyAttribute<Relation> extends Name
      ? Relation
      : never
    : never
  : never;

/** The type of a model's primary key: a list if it is composite. */
export type PrimaryKey<F> = HasCompositeKey<F> extends true ? KeyOver<F, KeyFields<F>> : SingleKey<F>;

type SingleKey<F> = { [K in keyof F]: "primary" extends FlagsOf<F[K]> ? KeyValue<F[K]> : never }[keyof F];

/** The values of several fields that are a key together. */
type KeyOver<F, Names extends readonly string[]> = {
  readonly [I in keyof Names]: NonNullable<KeyValue<F[Names[I] & keyof F]>>;
};

/** The type of the key by which a relation refers to a row. */
export type ReferenceKey<Field> =
  TypesOf<Field> extends { readonly references: infer Names extends readonly string[] }
    ? [Names] extends [never]
      ? PrimaryKey<TargetFields<Field>>
      : KeyOver<TargetFields<Field>, Names>
    : PrimaryKey<TargetFields<Field>>;

/**
 * A row with a key, whatever else is loaded of it: an instance, also one with loaded relations or with a choice of fields.
 */
export interface SavedRow<M> {
  readonly [presence]: "loaded";
  readonly [tableOf]?: M[typeof tableOf & keyof M];
}

/** What a queryset must be, besides itself, to write rows. Only those of views do not fit. */
export type Stored<M> = M extends { readonly [readOnlyRows]: true } ? "the rows of a view are read only" : unknown;

/** The type of a key column: its own value, or the key of the row that a foreign key refers to. */
type KeyValue<Field> = KindOf<Field> extends "toOne" ? SingleKey<TargetFields<Field>> : OutOf<Field>;

/** The type of a foreign key's column. */
export type ForeignKeyValue<Field> =
  "null" extends FlagsOf<Field> ? SingleKey<TargetFields<Field>> | null : SingleKey<TargetFields<Field>>;
