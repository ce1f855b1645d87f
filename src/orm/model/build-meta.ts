import { didYouMean } from "../../kit/suggest.js";
import { ValueError } from "../../kit/value-error.js";
import { choicesCheck } from "../fields/column-types.js";
import { FieldDefinition, type FieldSpec } from "../fields/definition.js";
import { qualified, shortName } from "../identifiers.js";
import type {
  CheckMeta,
  ColumnMeta,
  ForeignKeyMeta,
  IndexMeta,
  ModelConstructor,
  ModelMeta,
  RelationMeta,
  UniqueMeta,
  ViewMeta,
} from "../meta.js";
import { foreignColumn, plainColumn } from "./columns.js";
import { compositeKey } from "./composite.js";
import { checkFieldName } from "./field-names.js";
import { type ModelOptions, readIndex, readUnique } from "./options.js";
import { relationOf } from "./relations.js";

/** Builds the metadata of a model from the arguments of `Model`. Reads the fields: getters among them run now. */
export function buildMeta({ table, fields, options, view }: Declaration, base: ModelConstructor): Meta {
  const columns: ColumnMeta[] = [];
  const relations = new Map<string, FieldSpec>();
  const checks: CheckMeta[] = [];
  for (const name of Object.keys(fields)) {
    const definition = (fields as Record<string, unknown>)[name];
    if (!(definition instanceof FieldDefinition)) {
      throw new ValueError(`${table}.${name} is not a field: use one of field.int(), field.text(), ...`);
    }
    const { spec } = definition;
    if (spec.form === "column") {
      const column = plainColumn(name, columns.length, spec);
      columns.push(column);
      checks.push(...columnChecks(table, column, spec.options.check));
    } else {
      if (spec.form === "toOne") columns.push(foreignColumn(table, name, columns.length, spec));
      relations.set(name, spec);
    }
  }
  if (columns.filter((column) => column.version).length > 1)
    throw new ValueError(`${table} has two fields of versions`);
  return new Meta(table, columns, relations, checks, options, view, base);
}

/** The arguments of `Model`. */
export interface Declaration {
  readonly table: string;
  readonly fields: object;
  readonly options: Partial<ModelOptions>;
  readonly view?: ViewMeta;
}

export class Meta implements ModelMeta {
  readonly schema: string | undefined;
  readonly sqlName: string;
  readonly primaryKey: readonly ColumnMeta[];
  readonly indexes: readonly IndexMeta[];
  readonly checks: readonly CheckMeta[];
  readonly uniques: readonly UniqueMeta[];
  readonly foreignKeys: readonly ForeignKeyMeta[];
  readonly ordering: readonly string[];
  readonly comment: string | undefined;
  readonly managed: boolean;
  readonly renamedFrom: string | undefined;
  readonly automatic: boolean = false;
  model: ModelConstructor;
  readonly #base: ModelConstructor;
  readonly #names = new Map<string, ColumnMeta>();
  readonly #specs: ReadonlyMap<string, FieldSpec>;
  #relations: Map<string, RelationMeta> | undefined;
  /** The fields whose `relatedName` added a relation here, by that name. */
  readonly #reverses = new Map<string, string>();

  constructor(
    readonly table: string,
    readonly columns: readonly ColumnMeta[],
    specs: ReadonlyMap<string, FieldSpec>,
    checks: readonly CheckMeta[],
    options: Partial<ModelOptions>,
    readonly view: ViewMeta | undefined,
    base: ModelConstructor,
  ) {
    this.schema = options.schema;
    this.sqlName = qualified(options.schema, table);
    this.#specs = specs;
    this.#nameColumns();
    this.primaryKey = this.#findPrimaryKey(options.primaryKey);
    this.indexes = (options.indexes ?? []).map((index) => this.#index(readIndex(table, index)));
    this.uniques = (options.unique ?? []).map((unique) => this.#unique(readUnique(table, unique)));
    this.checks = [...checks, ...(options.checks ?? []).map((check, index) => namedCheck(table, check, index))];
    this.comment = options.comment;
    this.managed = options.managed !== false;
    this.renamedFrom = options.renamedFrom;
    this.model = base;
    this.#base = base;
    this.foreignKeys = [...specs].flatMap(([name, spec]) =>
      spec.form === "composite" ? compositeKey(this, name, spec) : [],
    );
    this.ordering = (options.ordering ?? []).flatMap((name) => columnOrder(this.foreignKeys, name));
  }

  /** The name of the class; until the class that extends `base` is known, that of the table. */
  get name(): string {
    return this.model === this.#base ? this.table : this.model.name || this.table;
  }

  get relations(): ReadonlyMap<string, RelationMeta> {
    if (this.#relations === undefined) {
      this.#relations = new Map();
      for (const [name, spec] of this.#specs) this.#relations.set(name, relationOf(this, name, spec));
    }
    return this.#relations;
  }

  column(name: string): ColumnMeta | undefined {
    return this.#names.get(name);
  }

  /** The relations as declared, without looking at the models they lead to. */
  get specs(): ReadonlyMap<string, FieldSpec> {
    return this.#specs;
  }

  /**
   * Adds a reverse relation, named by `relatedName` of another model's field. Returns false if this model already has
   * it.
   */
  addReverse(name: string, owner: string, relation: () => RelationMeta): boolean {
    checkFieldName(this.table, name);
    if (this.column(name)) throw new ValueError(`relatedName '${name}' of ${owner} is a column of ${this.name}`);
    const other = this.#reverses.get(name);
    if (other === owner) return false;
    if (other !== undefined)
      throw new ValueError(`relatedName '${name}' on ${this.name} is used by ${other} and by ${owner}`);
    if (this.relations.has(name)) return false;
    this.#relations!.set(name, relation());
    this.#reverses.set(name, owner);
    return true;
  }

  /** The same table under another class: a subclass of a model. */
  withModel(model: ModelConstructor): ModelMeta {
    return Object.create(this, {
      model: { value: model },
      name: { value: model.name },
      relations: { get: () => this.relations },
      column: { value: (name: string) => this.column(name) },
    }) as ModelMeta;
  }

  #nameColumns(): void {
    const taken = new Map<string, string>();
    for (const column of this.columns) {
      const other = taken.get(column.column);
      if (other !== undefined) throw new ValueError(`${this.table}: ${other} and ${column.name} have the same column`);
      taken.set(column.column, column.name);
      if (!this.#names.has(column.column)) this.#names.set(column.column, column);
    }
    for (const column of this.columns) this.#names.set(column.attribute, column);
    for (const column of this.columns) this.#names.set(column.name, column);
  }

  #columnFor(name: string, purpose: string): ColumnMeta {
    const column = this.column(name);
    if (column) return column;
    const known = this.columns.map((each) => each.name);
    throw new ValueError(`${this.table} has no field '${name}' for ${purpose}${didYouMean(name, known)}`);
  }

  #findPrimaryKey(names: readonly string[] | undefined): ColumnMeta[] {
    const flagged = this.columns.filter((column) => column.primaryKey);
    if (names === undefined) {
      if (flagged.length === 0)
        throw new ValueError(`${this.table} has no primary key: add one, such as id: field.auto()`);
      return flagged;
    }
    return names.map((name) => {
      const column = this.#columnFor(name, "its primary key");
      if (column.nullable) throw new ValueError(`${this.table}.${name} is part of the primary key and cannot be null`);
      Object.defineProperty(column, "primaryKey", { value: true });
      return column;
    });
  }

  #index(given: ReturnType<typeof readIndex>): IndexMeta {
    const parts = [
      ...(given.fields ?? []).map((name) => {
        const descending = name.startsWith("-");
        return { column: this.#columnFor(descending ? name.slice(1) : name, "an index").column, descending };
      }),
      ...(given.expressions ?? []).map((expression) => ({ expression })),
    ].map((part) => (given.operatorClass === undefined ? part : { ...part, operatorClass: given.operatorClass }));
    if (parts.length === 0) throw new ValueError(`an index of ${this.table} needs 'fields' or 'expressions'`);
    const words = parts.map((part) => ("column" in part ? part.column : part.expression.replace(/\W+/g, "_")));
    return {
      name:
        given.name ??
        shortName(`${this.table}_${words.join("_").replace(/(?<!_)_+$/, "")}_${given.unique ? "key" : "idx"}`),
      parts,
      unique: given.unique === true,
      method: given.method ?? "btree",
      nullsNotDistinct: given.nullsNotDistinct === true,
      where: given.where,
      include: (given.include ?? []).map((name) => this.#columnFor(name, "an index").column),
    };
  }

  #unique(given: ReturnType<typeof readUnique>): UniqueMeta {
    const columns = (given.fields ?? []).map((name) => this.#columnFor(name, "a unique constraint").column);
    if (columns.length === 0) throw new ValueError(`a unique constraint of ${this.table} needs 'fields'`);
    return {
      name: given.name ?? shortName(`${this.table}_${columns.join("_")}_key`),
      columns,
      nullsNotDistinct: given.nullsNotDistinct === true,
    };
  }
}

function columnChecks(table: string, column: ColumnMeta, sql: string | undefined): CheckMeta[] {
  const checks: CheckMeta[] = [];
  const { choices, enumName } = column.type;
  const name = shortName(`${table}_${column.column}_check`);
  if (choices && enumName === undefined)
    checks.push({ name: shortName(`${table}_${column.column}_choices`), sql: choicesCheck(column.column, choices) });
  if (sql !== undefined) checks.push({ name, sql });
  return checks;
}

function namedCheck(table: string, check: string | { name: string; sql: string }, index: number): CheckMeta {
  return typeof check === "string" ? { name: shortName(`${table}_check${index + 1}`), sql: check } : check;
}

/** The columns of a foreign key over several columns, in place of its name. */
function columnOrder(keys: readonly ForeignKeyMeta[], name: string): string[] {
  const sign = name.startsWith("-") ? "-" : "";
  const key = keys.find((each) => each.name === name.slice(sign.length));
  return key ? key.columns.map((column) => sign + column.name) : [name];
}
