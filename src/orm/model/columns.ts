import { snakeCase } from "../../kit/names.js";
import { didYouMean } from "../../kit/suggest.js";
import { ValueError } from "../../kit/value-error.js";
import type { FieldSpec, RelationOptions } from "../fields/definition.js";
import { checkIdentifier } from "../identifiers.js";
import type { ColumnDefault, ColumnMeta, ColumnReference, ColumnType, ModelConstructor, ModelMeta } from "../meta.js";

type ColumnSpec = Extract<FieldSpec, { form: "column" }>;
type ToOneSpec = Extract<FieldSpec, { form: "toOne" }>;

/** The property that holds a relation's key. */
export function keyAttribute(name: string): string {
  return name.includes("_") ? `${name}_id` : `${name}Id`;
}

export function plainColumn(name: string, index: number, spec: ColumnSpec): ColumnMeta {
  const { options, type } = spec;
  const given = defaultOf(options);
  const auto = spec.auto === true;
  const optional =
    auto ||
    options.null === true ||
    given !== undefined ||
    options.autoNow === true ||
    options.autoNowAdd === true ||
    options.generated !== undefined;
  return {
    name,
    attribute: name,
    column: columnName(name, options.column),
    index,
    type,
    nullable: options.null === true,
    primaryKey: options.primaryKey === true,
    unique: options.unique === true,
    indexed: options.index === true,
    autoIncrement: auto,
    default: given,
    autoNow: options.autoNow === true,
    autoNowAdd: options.autoNowAdd === true,
    generated: options.generated,
    readOnly: options.readOnly === true || options.generated !== undefined,
    hidden: options.hidden === true,
    softDelete: spec.softDelete === true,
    version: spec.version === true,
    optional,
    reference: undefined,
    collation: options.collation,
    comment: options.comment,
    renamedFrom: options.renamedFrom,
  };
}

/** A foreign key's column: its type is that of the key it refers to, which may be declared later. */
export function foreignColumn(owner: string, name: string, index: number, spec: ToOneSpec): ColumnMeta {
  const { options } = spec;
  const given = defaultOf(options);
  let reference: ColumnReference | undefined;
  const attribute = keyAttribute(name);
  return {
    name,
    attribute,
    column: columnName(attribute, options.column),
    index,
    get type(): ColumnType {
      return this.reference!.column.type;
    },
    nullable: options.null === true,
    primaryKey: options.primaryKey === true,
    unique: options.unique === true || spec.one,
    indexed: options.index !== false && !(spec.one || options.unique === true || options.primaryKey === true),
    autoIncrement: false,
    default: given,
    autoNow: false,
    autoNowAdd: false,
    generated: undefined,
    readOnly: options.readOnly === true,
    hidden: options.hidden === true,
    softDelete: false,
    version: false,
    optional: options.null === true || given !== undefined,
    get reference(): ColumnReference {
      return (reference ??= resolveReference(`${owner}.${name}`, spec.target, options));
    },
    collation: undefined,
    comment: options.comment,
    renamedFrom: options.renamedFrom,
  };
}

/** The module of a relation's target is not evaluated yet: circular imports give `undefined` in CommonJS. */
export class TargetNotLoaded extends ValueError {}

/** The metadata of the model that a relation's function returns. */
export function targetMeta(owner: string, target: () => unknown): ModelMeta {
  const model = target();
  if (model === undefined) {
    throw new TargetNotLoaded(
      `the relation ${owner} does not lead to a model: its function returned undefined, as it does before the other module is loaded`,
    );
  }
  if (typeof model !== "function" || !("meta" in model)) {
    throw new ValueError(`the relation ${owner} does not lead to a model: its function must return a model's class`);
  }
  return (model as unknown as ModelConstructor).meta;
}

function resolveReference(owner: string, thunk: () => unknown, options: RelationOptions): ColumnReference {
  const target = targetMeta(owner, thunk);
  return {
    target,
    column: referredColumn(owner, target, options.to),
    onDelete: options.onDelete ?? "cascade",
    onUpdate: options.onUpdate ?? "no action",
    deferred: options.deferred === true,
    constraint: options.constraint ?? true,
  };
}

function referredColumn(owner: string, target: ModelMeta, to: string | undefined): ColumnMeta {
  if (to === undefined) {
    if (target.primaryKey.length === 1) return target.primaryKey[0]!;
    throw new ValueError(
      `${owner} refers to ${target.name}, whose key is composite: use field.compositeForeignKey, or name a unique field with 'to'`,
    );
  }
  const column = target.column(to);
  if (column) return column;
  const known = target.columns.map((each) => each.name);
  throw new ValueError(`${owner} refers to ${target.name}.${to}, which does not exist${didYouMean(to, known)}`);
}

function columnName(attribute: string, given: string | undefined): string {
  return checkIdentifier("the name of a column", given ?? snakeCase(attribute));
}

function defaultOf(options: {
  readonly default?: unknown;
  readonly defaultSql?: string | undefined;
}): ColumnDefault | undefined {
  if (options.defaultSql !== undefined) return { from: "sql", sql: options.defaultSql };
  if (options.default === undefined) return undefined;
  if (typeof options.default === "function") return { from: "function", make: options.default as () => unknown };
  return { from: "value", value: options.default };
}
