import { capitalized } from "../../../kit/names.js";
import { ValueError } from "../../../kit/value-error.js";
import { isWritable } from "../../../orm/body/model-body.js";
import { refuseView } from "../../../orm/compile/write.js";
import type { ColumnMeta, RelationMeta } from "../../../orm/meta.js";
import { versionColumn } from "../../../orm/run/version.js";
import type { SchemaBuilder } from "../build/schema-builder.js";
import { resolver } from "../resolver.js";
import type { FieldResolver } from "../schema-like.js";
import { columnReader, columnType } from "./columns.js";
import type { ExposedModel } from "./exposed-model.js";
import { filterInput } from "./filters.js";
import { type MutationKind, type MutationOptions, readModelMutations } from "./options.js";
import { type ListArguments, type PageArguments, Rows } from "./rows.js";
import { Input, type Target, Writes } from "./writes.js";

/** Completes the types of models, at start: all of them are known, and each can show its relations to the others. */
export function addModels(builder: SchemaBuilder, federation: boolean): void {
  const models = builder.models;
  if (models.length === 0) return;
  const types = new Map<unknown, ModelType>();
  for (const exposed of models) types.set(exposed.model.meta, new ModelType(builder, exposed, types));
  // Each subgraph with models has it.
  const shared = federation ? "type PageInfo @shareable" : "type PageInfo";
  if (!builder.has("PageInfo")) builder.define("PageInfo", pageInfo.replace("type PageInfo", shared));
  for (const type of types.values()) type.addColumns();
  if (federation) for (const type of types.values()) type.addKey();
  for (const type of types.values()) type.addRelationsAndQueries();
}

const noColumns: ReadonlyMap<string, ColumnMeta> = new Map();

const pageInfo = `type PageInfo {
  hasNextPage: Boolean!
  hasPreviousPage: Boolean!
  startCursor: String
  endCursor: String
}
`;

class ModelType {
  readonly #builder: SchemaBuilder;
  readonly #exposed: ExposedModel;
  readonly #rows: Rows;
  readonly #types: ReadonlyMap<unknown, ModelType>;
  /** The types of the columns that are shown, by the names of their fields. */
  readonly #columns = new Map<
    string,
    { readonly column: ColumnMeta; readonly type: string; readonly isEnum: boolean }
  >();
  #list: { readonly args: Readonly<Record<string, string>>; readonly columns: Map<string, ColumnMeta> } | null = null;

  constructor(builder: SchemaBuilder, exposed: ExposedModel, types: ReadonlyMap<unknown, ModelType>) {
    this.#builder = builder;
    this.#exposed = exposed;
    this.#rows = new Rows(exposed);
    this.#types = types;
  }

  /** True if clients see only some of the rows. */
  get isRestricted(): boolean {
    return this.#rows.restricted;
  }

  addColumns(): void {
    const { meta } = this.#exposed.model;
    if (meta.primaryKey.length !== 1) {
      throw new ValueError(`graphql.model(${meta.name}) needs a model with a primary key of one column`);
    }
    this.#checkNames();
    for (const column of meta.columns) this.#addColumn(column);
  }

  addRelationsAndQueries(): void {
    const { model, options, type } = this.#exposed;
    for (const relation of model.meta.relations.values()) this.#addRelation(relation);
    if (options.query !== false) this.#addQueries(...(options.query ?? namesOf(type.name)));
    for (const [kind, mutation] of readModelMutations(model.meta.name, options.mutations)) {
      refuseView(model.meta);
      this.#addMutation(kind, mutation);
    }
  }

  /** Rows are entities, found by their primary key, all of an operation at once. */
  addKey(): void {
    const { model, options, type } = this.#exposed;
    const { attribute } = model.meta.primaryKey[0]!;
    if (!this.#columns.has(attribute) || type.hasKey(attribute)) return;
    const find = resolver<Record<string, unknown>>({ guards: options.guards ?? [] }, (reference, _args, context) =>
      this.#rows.one(context, reference[attribute]),
    );
    type.key(attribute, (reference, context) => find(reference, {}, context) as Promise<object | null>);
  }

  #isShown(name: string): boolean {
    const { fields } = this.#exposed.options;
    return fields === undefined || (fields as readonly string[]).includes(name);
  }

  #addColumn(column: ColumnMeta): void {
    const { type: object } = this.#exposed;
    if (column.hidden || !this.#isShown(column.attribute)) return;
    const { type, isEnum } = this.#typeOf(column);
    if (type === null) return;
    this.#columns.set(column.attribute, { column, type, isEnum });
    if (object.has(column.attribute)) return;
    const read = columnReader(column, type);
    const resolve: FieldResolver | null =
      read &&
      ((row) => {
        const value: unknown = row[column.attribute];
        return value === null || value === undefined ? null : read(value);
      });
    object.add(column.attribute, { text: `${column.attribute}: ${type}${column.nullable ? "" : "!"}`, resolve });
  }

  #typeOf(column: ColumnMeta): { readonly type: string | null; readonly isEnum: boolean } {
    let isEnum = false;
    const type = columnType(column, (_column, choices) => {
      isEnum = true;
      return this.#enum(column, choices);
    });
    return { type, isEnum };
  }

  #addRelation(relation: RelationMeta): void {
    const { type: object } = this.#exposed;
    const target = this.#types.get(relation.target);
    if (!target || !this.#isShown(relation.name) || object.has(relation.name)) return;
    const rows = target.#rows;
    const { name } = target.#exposed.type;
    if (relation.single) {
      const nullable = relation.nullable || rows.restricted;
      const resolve: FieldResolver = rows.restricted
        ? async (row, _args, context, info) =>
            (await rows.related(relation, row, null, noColumns, context, info))?.[0] ?? null
        : (row) => row[relation.name];
      object.add(relation.name, { text: `${relation.name}: ${name}${nullable ? "" : "!"}`, resolve });
      return;
    }
    const { args, columns } = target.#listOf();
    const given = Object.entries(args).map(([argument, type]) => `${argument}: ${type}`);
    object.add(relation.name, {
      text: `${relation.name}(${given.join(", ")}): [${name}!]!`,
      resolve: (row, args: ListArguments, context, info) => rows.related(relation, row, args, columns, context, info),
    });
  }

  /** The arguments of a list of rows of this type, and the columns that its filter names. */
  #listOf(): { readonly args: Readonly<Record<string, string>>; readonly columns: Map<string, ColumnMeta> } {
    if (this.#list !== null) return this.#list;
    const filter = this.#addFilter();
    const order = this.#addOrder();
    const args = {
      ...(filter && { filter }),
      ...(order && { orderBy: `[${order}!]` }),
      first: `Int! = ${Math.min(20, this.#exposed.options.maxPage ?? 100)}`,
    };
    const columns = new Map([...this.#columns].map(([name, { column }]) => [name, column]));
    return (this.#list = { args, columns });
  }

  #enum(column: ColumnMeta, choices: readonly string[]): string {
    const name = `${this.#exposed.type.name}${capitalized(column.name)}`;
    if (!this.#builder.has(name)) this.#builder.define(name, `enum ${name} {\n  ${choices.join("\n  ")}\n}\n`);
    return name;
  }

  #addQueries(one: string, many: string): void {
    const { type, options } = this.#exposed;
    const rows = this.#rows;
    const { guards } = options;
    const guarded = guards ? { guards } : {};
    this.#builder.addQuery(one, { type, args: { id: "ID!" }, ...guarded }, ({ id }, context) => rows.one(context, id));
    const { args: list, columns } = this.#listOf();
    const connection = this.#addConnection();
    const args = { ...list, after: "String", before: "String" };
    this.#builder.addQuery(many, { type: `${connection}!`, args, ...guarded }, (given, context) =>
      rows.page(context, given as unknown as PageArguments, columns),
    );
  }

  #addMutation(kind: MutationKind, options: MutationOptions): void {
    const { type, model, options: all } = this.#exposed;
    const guards = [...(all.guards ?? []), ...(options.guards ?? [])];
    const name = options.name ?? `${kind}${type.name}`;
    const writes = new Writes(this.#exposed, this.#rows, (column) => {
      const type = this.#types.get(column.reference?.target);
      return type?.isRestricted ? type.#rows : null;
    });
    const version = versionColumn(model.meta);
    const shown = version && this.#columns.get(version.attribute);
    const target = { id: "ID!", ...(shown && { version: `${shown.type}!` }) };
    if (kind === "delete") {
      this.#builder.addMutation(name, { type: "ID!", args: target, guards }, (args, context) =>
        writes.delete(context, args as Target),
      );
      return;
    }
    const input = this.#input(kind, options);
    const inputType = `${this.#addInput(kind, input)}!`;
    if (kind === "create") {
      this.#builder.addMutation(name, { type: type.required, args: { input: inputType }, guards }, (args, context) =>
        writes.create(context, input, args.input),
      );
    } else {
      const args = { ...target, input: inputType };
      this.#builder.addMutation(name, { type: type.required, args, guards }, ({ input: given, ...row }, context) =>
        writes.update(context, row as Target, input, given),
      );
    }
  }

  /** The columns that a mutation takes. The key of a row stays as it is. */
  #input(kind: "create" | "update", { fields, values }: MutationOptions): Input {
    const { meta } = this.#exposed.model;
    const owner = `'${kind}' in option 'mutations' of graphql.model(${meta.name})`;
    const mayTake = (column: ColumnMeta): boolean =>
      isWritable(column) && (kind === "create" || !column.primaryKey) && this.#typeOf(column).type !== null;
    const named = (fields as readonly string[] | undefined)?.map((name) => {
      const column = meta.columns.find(({ attribute }) => attribute === name);
      if (column && mayTake(column)) return column;
      throw new ValueError(`option 'fields' of ${owner} names '${name}', which clients cannot write`);
    });
    const columns = named ?? meta.columns.filter((column) => mayTake(column) && this.#columns.has(column.attribute));
    if (columns.length === 0) throw new ValueError(`${owner} has no column that clients can write`);
    const missing = meta.columns.find((column) => !column.optional && !columns.includes(column));
    if (kind === "create" && missing && !values) {
      throw new ValueError(
        `${owner} lacks '${missing.attribute}', which is required: name it in fields, or give values`,
      );
    }
    return new Input(columns, kind === "update", values);
  }

  #addInput(kind: "create" | "update", { columns }: Input): string {
    const name = `${capitalized(kind)}${this.#exposed.type.name}Input`;
    const lines = columns.map((column) => {
      const required = kind === "create" && !column.optional;
      return `  ${column.attribute}: ${this.#typeOf(column).type}${required ? "!" : ""}`;
    });
    this.#builder.define(name, `input ${name} {\n${lines.join("\n")}\n}\n`);
    return name;
  }

  #addFilter(): string | null {
    const name = `${this.#exposed.type.name}Filter`;
    const allowed = this.#exposed.options.filters as readonly string[] | undefined;
    const lines: string[] = [];
    for (const [field, { type, isEnum }] of this.#columns) {
      const input = allowed === undefined || allowed.includes(field) ? filterInput(type, isEnum) : null;
      if (!input) continue;
      if (!this.#builder.has(input.name)) this.#builder.define(input.name, input.text);
      lines.push(`  ${field}: ${input.name}`);
    }
    if (lines.length === 0) return null;
    lines.push(`  and: [${name}!]`, `  or: [${name}!]`, `  not: ${name}`);
    this.#builder.define(name, `input ${name} {\n${lines.join("\n")}\n}\n`);
    return name;
  }

  /** Only columns that cannot be null: pages are found by the values of the order. */
  #addOrder(): string | null {
    const name = `${this.#exposed.type.name}Order`;
    const allowed = this.#exposed.options.orders as readonly string[] | undefined;
    const values = new Map<string, string>();
    for (const [field, { column, type }] of this.#columns) {
      if (column.nullable || type === "JSON" || type.startsWith("[")) continue;
      if (allowed !== undefined && !allowed.includes(field)) continue;
      const constant = field.replace(/[A-Z]/g, "_$&").toUpperCase();
      values.set(constant, field).set(`${constant}_DESC`, `-${field}`);
    }
    if (values.size === 0) return null;
    this.#builder.define(name, `enum ${name} {\n  ${[...values.keys()].join("\n  ")}\n}\n`);
    this.#builder.enumValues(name, Object.fromEntries(values));
    return name;
  }

  #addConnection(): string {
    const { name } = this.#exposed.type;
    this.#builder.define(`${name}Edge`, `type ${name}Edge {\n  cursor: String!\n  node: ${name}!\n}\n`);
    const fields = [`edges: [${name}Edge!]!`, `nodes: [${name}!]!`, "pageInfo: PageInfo!", "totalCount: Int!"];
    this.#builder.define(`${name}Connection`, `type ${name}Connection {\n  ${fields.join("\n  ")}\n}\n`);
    return `${name}Connection`;
  }

  #checkNames(): void {
    const { model, options } = this.#exposed;
    const known = new Set([...model.meta.columns.map((column) => column.attribute), ...model.meta.relations.keys()]);
    for (const list of ["fields", "filters", "orders"] as const) {
      const unknown = options[list]?.find((name) => !known.has(name));
      if (unknown !== undefined) {
        throw new ValueError(
          `option '${list}' of graphql.model(${model.meta.name}) names the unknown field '${unknown}'`,
        );
      }
    }
    const nullable = options.orders?.find((name) => model.meta.column(name)?.nullable !== false);
    if (nullable !== undefined) {
      throw new ValueError(`graphql.model(${model.meta.name}) cannot be ordered by '${nullable}', which may be null`);
    }
  }
}

/** `Book` gives `book` and `books`, `Category` gives `category` and `categories`. */
function namesOf(type: string): [one: string, many: string] {
  const one = type.charAt(0).toLowerCase() + type.slice(1);
  if (/[^aeiou]y$/.test(one)) return [one, `${one.slice(0, -1)}ies`];
  return [one, /(?:s|x|z|ch|sh)$/.test(one) ? `${one}es` : `${one}s`];
}
