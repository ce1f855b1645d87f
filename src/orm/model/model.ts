import type { Queries, Statement } from "../../engines/db/database.js";
import type { Request } from "../../http/request.js";
import type { Response } from "../../http/response.js";
import type { toResponseSymbol } from "../../http/to-response.js";
import type {
  BodyResult,
  bodyValidatorSymbol,
  jsonSchemaSymbol,
  NamedJsonSchema,
} from "../../validation/body-validator.js";
import type { FieldsBody } from "../body/body-types.js";
import type { DoesNotExist, MultipleObjectsReturned } from "../errors.js";
import type { FlagsOf, fieldsOf, KindOf, PrimaryKey, presence, RelationNames, TargetOf } from "../fields/types.js";
import { checkIdentifier } from "../identifiers.js";
import type { ModelMeta } from "../meta.js";
import type { QuerySet } from "../query/queryset.js";
import type { ColumnValues, CreateInput } from "../query/row-types.js";
import type { Lazy } from "../relations/lazy.js";
import type { RelatedSet } from "../relations/related-set.js";
import type { HookContext, HookEvent } from "../run/hooks.js";
import type { SaveOptions } from "../run/persist.js";
import { BaseModel } from "./base-model.js";
import { declare } from "./declarations.js";
import { checkFieldName } from "./field-names.js";
import { type ModelOptions, readModelOptions } from "./options.js";

/** What every instance of a model can do. */
export interface ModelInstance<F> {
  /** @internal Known to the compiler only. */
  readonly [fieldsOf]?: F;
  /** @internal Known to the compiler only: a loaded row is no promise of one. */
  readonly [presence]: "loaded";
  /** The primary key; a list for a composite one. */
  readonly pk: PrimaryKey<F>;
  /** Inserts a new row, or updates what changed. */
  save(options?: SaveOptions): Promise<this>;
  /** Deletes the row; softly, where the model says so. */
  delete(): Promise<void>;
  hardDelete(): Promise<void>;
  restore(): Promise<this>;
  /** Reads the row again; all columns, or some. */
  refresh(): Promise<this>;
  /** The rows at the other end of a relation to many, loaded or not, to add and remove. */
  related<K extends ToManyNames<F>>(name: K): RelatedSet<TargetOf<F[K]>>;
  toJSON(): Record<string, unknown>;
  [toResponseSymbol](request: Request): Response;
}

type ToManyNames<F> = { [K in keyof F]: KindOf<F[K]> extends "toMany" ? K : never }[keyof F] & string;

type RelationProperty<Field> =
  KindOf<Field> extends "toMany"
    ? RelatedSet<TargetOf<Field>>
    : KindOf<Field> extends "reverseOne"
      ? TargetOf<Field> | null | Lazy<TargetOf<Field> | null>
      : "null" extends FlagsOf<Field>
        ? TargetOf<Field> | null | Lazy<TargetOf<Field> | null>
        : TargetOf<Field> | Lazy<TargetOf<Field>>;

/** The properties of an instance: its columns, the keys of its relations, and the relations. */
export type ModelProperties<F> = ColumnValues<F> & { [K in RelationNames<F>]: RelationProperty<F[K]> };

type Instance<F> = ModelInstance<F> & ModelProperties<F>;

/** The class that `Model` makes, to be extended. */
export interface ModelClass<F> {
  new (values?: Partial<CreateInput<Instance<F>>>): Instance<F>;
  /** All rows: where every query begins. */
  readonly objects: QuerySet<Instance<F>>;
  /** What is known about the model: columns, relations, indexes. */
  readonly meta: ModelMeta;
  /** Thrown by `get` when there is no row; a class of its own for each model. */
  readonly DoesNotExist: typeof DoesNotExist;
  readonly MultipleObjectsReturned: typeof MultipleObjectsReturned;
  /** Reads the bodies of a route with `{ body: Book }`. */
  [bodyValidatorSymbol](bytes: Uint8Array): BodyResult<FieldsBody<F>>;
  /** Describes the model in documents. */
  [jsonSchemaSymbol](direction: "input" | "output"): NamedJsonSchema;
  /** Calls a function before or after instances are saved or deleted. Returns what takes it away again. */
  on<C extends abstract new (...args: never[]) => unknown>(
    this: C,
    event: HookEvent,
    hook: (instance: InstanceType<C>, context: HookContext) => unknown,
  ): () => void;
  /** Instances of rows that SQL of the application's own gives: `` Book.raw(sql`select * from books where ...`) ``. */
  raw<C extends abstract new (...args: never[]) => unknown>(
    this: C,
    statement: Statement,
    params?: readonly unknown[],
    options?: { readonly using?: Queries },
  ): Promise<InstanceType<C>[]>;
}

/**
 * Makes the base class of a model. Relations that lead back to a model that is declared with this one are written as
 * getters, so that neither the compiler nor the loader of modules goes round in a circle.
 */
export function Model<const Table extends string, F extends object>(
  table: Table,
  fields: F,
  options?: ModelOptions<keyof F & string>,
): ModelClass<F> {
  checkIdentifier("the name of a table", table);
  // By name only: a getter among the fields may lead to a model that is declared later.
  for (const name of Object.keys(fields)) checkFieldName(table, name);
  const base = class extends BaseModel {};
  declare(base, { table, fields, options: readModelOptions(table, options) });
  return base as unknown as ModelClass<F>;
}
