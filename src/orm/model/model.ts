import type { Statement } from "../../engines/db/database.js";
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
import type {
  FlagsOf,
  fieldsOf,
  KindOf,
  PrimaryKey,
  presence,
  RelationNames,
  TargetOf,
  ToManyNames,
  tableOf,
  WithKey,
} from "../fields/types.js";
import { checkIdentifier } from "../identifiers.js";
import type { ModelMeta } from "../meta.js";
import type { RelatedChanges } from "../query/nested-types.js";
import type { QuerySet } from "../query/queryset.js";
import type { ColumnValues, CreateInput } from "../query/row-types.js";
import type { Lazy } from "../relations/lazy.js";
import type { RelatedSet } from "../relations/related-set.js";
import type { HookContext, HookEvent } from "../run/hooks.js";
import type { SaveOptions } from "../run/persist.js";
import { BaseModel, type RawOptions } from "./base-model.js";
import { declare } from "./declarations.js";
import { checkFieldName } from "./field-names.js";
import { type ModelOptions, readModelOptions } from "./options.js";

/** The methods of every model instance. */
export interface ModelInstance<F, Table extends string = string> {
  // The next three are known to the compiler only. They are published: without them a model has no fields.
  /** The fields of the model. */
  readonly [fieldsOf]?: F;
  /** Distinguishes models with the same fields. */
  readonly [tableOf]?: Table;
  /** Distinguishes a loaded row from a promise of one. */
  readonly [presence]: "loaded";
  /** The primary key; a list for a composite one. */
  readonly pk: PrimaryKey<F>;
  /** Inserts a new row, or updates the changed columns; with `related` also rows of its to-many relations. */
  save(options?: Omit<SaveOptions, "related"> & { readonly related?: RelatedChanges<F> | undefined }): Promise<this>;
  /** Deletes the row; softly if the model has `softDelete()`. */
  delete(): Promise<void>;
  hardDelete(): Promise<void>;
  restore(): Promise<this>;
  /** Reads all columns of the row again. */
  refresh(): Promise<this>;
  /** Returns the related rows of a to-many relation, to query, add and remove them. */
  related<K extends ToManyNames<F>>(name: K): RelatedSet<TargetOf<F[K]>>;
  toJSON(): Record<string, unknown>;
  [toResponseSymbol](request: Request): Response;
}

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

type Instance<F, Table extends string> = ModelInstance<F, Table> & ModelProperties<F>;

/** The class that `Model` returns; models extend it. */
export interface ModelClass<F, Table extends string = string> {
  new (values?: Partial<CreateInput<Instance<F, Table>>>): Instance<F, Table>;
  /** The compiler finds the instances of a relation here. */
  readonly prototype: Instance<F, Table>;
  /** A queryset of all rows: the start of every query. */
  readonly objects: QuerySet<Instance<F, Table>>;
  /** The model's metadata: columns, relations, indexes. */
  readonly meta: ModelMeta;
  /** Thrown by `get` if no row matches; each model has its own class. */
  readonly DoesNotExist: typeof DoesNotExist;
  readonly MultipleObjectsReturned: typeof MultipleObjectsReturned;
  /** Reads the bodies of a route with `{ body: Book }`. */
  [bodyValidatorSymbol](bytes: Uint8Array, limit?: number): BodyResult<FieldsBody<F>>;
  /** Describes the model in documents. */
  [jsonSchemaSymbol](direction: "input" | "output"): NamedJsonSchema;
  /** Registers a hook that runs before or after instances are saved or deleted. Returns a function that removes it. */
  on<C extends abstract new (...args: never[]) => unknown>(
    this: C,
    event: HookEvent,
    hook: (instance: InstanceType<C>, context: HookContext) => unknown,
  ): () => void;
  /** Runs SQL and returns its rows as instances: `` Book.raw(sql`select * from books where ...`) ``. */
  raw<C extends abstract new (...args: never[]) => unknown>(
    this: C,
    statement: Statement,
    params?: readonly unknown[],
    options?: RawOptions,
  ): Promise<InstanceType<C>[]>;
}

/**
 * Creates the base class of a model. Write relations between models that refer to each other as getters; otherwise neither
 * the compiler nor the module loader can resolve the circle.
 */
export function Model<
  const Table extends string,
  F extends object,
  const Key extends readonly (keyof F & string)[] = [],
>(table: Table, fields: F, options?: ModelOptions<keyof F & string, Key>): ModelClass<WithKey<F, Key>, Table> {
  checkNames(table, fields);
  const base = class extends BaseModel {};
  declare(base, { table, fields, options: readModelOptions(table, options) });
  return base as unknown as ModelClass<WithKey<F, Key>, Table>;
}

export function checkNames(table: string, fields: object): void {
  checkIdentifier("the name of a table", table);
  // Only the names are checked: a getter among the fields may lead to a model that is declared later.
  for (const name of Object.keys(fields)) checkFieldName(table, name);
}
