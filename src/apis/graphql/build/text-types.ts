/** The types of values, read from GraphQL's own notation: `"[Int!]!"` is `readonly number[]`. */

import type { FormFile } from "../../../http/body/form.js";

declare const valueType: unique symbol;

/** A type of the schema in a certain use: nullable, required, or in a list. */
export interface TypeUse<Value> {
  /** The type in GraphQL's notation. */
  readonly text: string;
  readonly [valueType]?: Value;
}

/** Scalars and the types of their values. Merge into this interface to declare more. */
export interface Scalars {
  String: string;
  ID: string;
  Int: number;
  Float: number;
  Boolean: boolean;
  /** A point in time; ISO 8601 on the wire. */
  DateTime: Date;
  /** A whole number of any size; a string on the wire. */
  BigInt: bigint;
  /** Any JSON value. */
  JSON: unknown;
  /** A file of a multipart request, for arguments. */
  Upload: FormFile;
}

type Named<T> = T extends keyof Scalars ? Scalars[T] : unknown;
type Nullable<T> = T extends `[${infer Item}]` ? readonly TextValue<Item>[] | null : Named<T> | null;

/** The value of a type in GraphQL's notation. A default makes it required: `"Int = 10"`. */
export type TextValue<T> = T extends `${infer Base} = ${string}`
  ? NonNullable<TextValue<Base>>
  : T extends `${infer Base}!`
    ? NonNullable<Nullable<Base>>
    : Nullable<T>;

/** A type as it is written in a definition. */
export type TypeGiven = string | TypeUse<unknown>;

/** The value that a resolver gets or returns for a type. */
export type ValueOf<T> = T extends TypeUse<infer Value> ? Value : T extends string ? TextValue<T> : never;

/** Types by the names of arguments or fields. */
export type Shape = Readonly<Record<string, TypeGiven>>;

/** The arguments of a resolver. An argument that may be null may be absent. */
export type ArgumentsOf<S> = {
  readonly [K in keyof S as null extends ValueOf<S[K]> ? never : K]: ValueOf<S[K]>;
} & {
  readonly [K in keyof S as null extends ValueOf<S[K]> ? K : never]?: ValueOf<S[K]> | undefined;
};

/** The object that the fields of a type are read from. An ID may be a number, too. */
export type SourceOf<S> = {
  readonly [K in keyof S as null extends ValueOf<S[K]> ? never : K]: Readable<S[K]>;
} & {
  readonly [K in keyof S as null extends ValueOf<S[K]> ? K : never]?: Readable<S[K]> | undefined;
};

type Readable<T> = Result<T> | (() => Result<T>);

type Loose<T> = T extends "ID" | "ID!" ? ValueOf<T> | number : ValueOf<T>;

type Iterated<T> = NonNullable<ValueOf<T>> extends readonly (infer Item)[] ? AsyncIterable<Item> : never;

/** The result of a resolver, which may be a promise; a list may be an async iterable. */
export type Result<T> = Loose<T> | PromiseLike<Loose<T>> | Iterated<T>;
