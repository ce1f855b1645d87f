import { checkedOptions } from "../../kit/config.js";
import { is } from "../../kit/options.js";
import { ValueError } from "../../kit/value-error.js";
import { splitName } from "../../orm/schema/names.js";
import type { SchemaState, TableState } from "../../orm/schema/state.js";
import { tidyState } from "../../orm/schema/tidy.js";
import { typeName } from "../../orm/schema/type-names.js";
import type { UnmanagedTable } from "../introspect.js";
import { escaped, legible, shown } from "../names.js";
import { type EnumSources, valuesCode, writableEnums } from "./column-type.js";
import { compositeCode } from "./composite-keys.js";
import { type Draft, draftOf } from "./draft.js";
import { columnCode, toOneCode } from "./field-source.js";
import { foreignKeysOf } from "./foreign-keys.js";
import { type JoinTable, joinTableOf } from "./join-tables.js";
import { classNames, valuesName } from "./naming.js";
import { propertiesOf } from "./properties.js";
import { gettersOf, type Models, type RelationField, relationFields } from "./relations.js";
import { objectCode, print } from "./source.js";
import { isViewKind, tableOptions } from "./table-options.js";

export interface WriteModelsOptions {
  readonly language: "ts" | "js";
  /** Names of classes by the names of tables, instead of the default names. */
  readonly names?: Readonly<Record<string, string>> | undefined;
}

/** A state, with what `introspect` found beside it. */
export interface WritableState extends SchemaState {
  readonly unmanaged?: Readonly<Record<string, UnmanagedTable>>;
  readonly leftOut?: Readonly<Record<string, readonly string[]>>;
}

const readOptions = checkedOptions<WriteModelsOptions>({ language: is.oneOf("ts", "js"), names: is.object });

/**
 * Writes the source of a module with a model for each table. The models have the tables of the state; a comment says what a
 * model cannot express. Names and texts of the database appear only in strings and comments, escaped.
 */
export function writeModels(state: WritableState, options: WriteModelsOptions): string {
  const { language, names = {} } = readOptions("writeModels", options);
  if (language === undefined) throw new ValueError('option \'language\' is required in writeModels: "ts" or "js"');
  const typed = language === "ts";
  const all: Record<string, TableState | UnmanagedTable> = { ...tidyState(state).tables, ...state.unmanaged };
  const { enums, constants, notes } = enumSources(state.enums, all, new Set(Object.values(names)), typed);
  const leftOut = new Map(Object.entries(state.leftOut ?? {}));
  const drafts = new Map<string, Draft>();
  for (const [table, each] of Object.entries(all)) {
    const draft = draftOf(table, each, enums, typed);
    if (typeof draft === "string") notes.push(`${draft}.`);
    else drafts.set(table, draft);
  }
  const models = relate(drafts, names);
  const inGetter = gettersOf(models);
  const relations = relationFields(models, inGetter);
  const classes = [...models.drafts.values()].map((draft) =>
    classSource(draft, models, inGetter, relations.get(draft.table)!, leftOut.get(draft.table) ?? [], typed),
  );
  const needsJson = typed && classes.some((each) => each.includes("field.custom<Json>"));
  const used = ["Model", "View"].filter((name) => classes.some((each) => each.includes(` extends ${name}(`)));
  const imports = ["field", ...(needsJson ? ["type Json"] : []), ...(used.length === 0 ? ["Model"] : used)];
  const importLine = `import { ${imports.join(", ")} } from "stoa/orm";\n`;
  return [importLine, ...(notes.length > 0 ? [notes.map(comment("")).join("")] : []), ...constants, ...classes].join(
    "\n",
  );
}

/**
 * The class names, the foreign keys, the join tables and the properties of all models. Join tables that a relation
 * makes by itself get no class.
 */
function relate(all: ReadonlyMap<string, Draft>, names: Readonly<Record<string, string>>): Models {
  const classes = classNames([...all.keys()], names);
  const foreignKeys = new Map([...all].map(([table, draft]) => [table, foreignKeysOf(draft, all)]));
  const referredTo = new Set(
    [...foreignKeys.values()].flatMap(({ toOne, composite }) =>
      [...toOne.values(), ...composite].map((each) => each.target),
    ),
  );
  const joins = [...all.values()].flatMap((draft): JoinTable[] => {
    const join = joinTableOf(draft, foreignKeys.get(draft.table)!);
    return join === undefined ? [] : [{ ...join, automatic: join.automatic && !referredTo.has(draft) }];
  });
  const withoutClass = new Set(joins.filter(({ automatic }) => automatic).map(({ draft }) => draft.table));
  const drafts = new Map([...all].filter(([table]) => !withoutClass.has(table)));
  const properties = new Map(
    [...drafts].map(([table, draft]) => [table, propertiesOf(draft, foreignKeys.get(table)!)]),
  );
  return { drafts, classes, foreignKeys, properties, joins };
}

function classSource(
  draft: Draft,
  models: Models,
  inGetter: (from: string, to: string) => boolean,
  relations: readonly RelationField[],
  leftOut: readonly string[],
  typed: boolean,
): string {
  const { columns, nameOf } = models.properties.get(draft.table)!;
  const { toOne, composite, notes: keyNotes } = models.foreignKeys.get(draft.table)!;
  const written: (RelationField & { readonly notes: readonly string[] })[] = [];
  for (const [column, { notes }] of draft.columns) {
    const name = columns.get(column)!;
    const relation = toOne.get(column);
    if (relation === undefined) {
      written.push({ name, code: columnCode(draft, column, name, typed), getter: false, notes });
      continue;
    }
    const { target, to } = relation;
    const targetProperty = models.properties.get(target.table)!.columns.get(to)!;
    const code = toOneCode(draft, relation, name, models.classes.get(target.table)!, targetProperty);
    written.push({ name, code, getter: inGetter(draft.table, target.table), notes });
  }
  for (const relation of composite) {
    const { target } = relation;
    const other = models.properties.get(target.table)!.columns;
    const code = compositeCode(
      draft,
      relation,
      models.classes.get(target.table)!,
      (column) => columns.get(column)!,
      (column) => other.get(column)!,
    );
    written.push({ name: nameOf(relation), code, getter: inGetter(draft.table, target.table), notes: [] });
  }
  written.push(...relations.map((relation) => ({ ...relation, notes: [] })));
  const { options, notes } = tableOptions(draft, columns);
  const head = `export class ${models.classes.get(draft.table)} extends ${isViewKind(draft.kind) ? "View" : "Model"}(`;
  const table = escaped(splitName(draft.table).name);
  const indent = options.length === 0 ? 2 : 4;
  const fields = written.map((each) => fieldSource(each, indent)).join("");
  const body =
    options.length === 0
      ? `${head}${table}, {\n${fields}}) {}\n`
      : `${head}\n  ${table},\n  {\n${fields}  },\n  ${print(objectCode(options), 2)},\n) {}\n`;
  return `${[...draft.notes, ...keyNotes, ...notes, ...leftOut].map(comment("")).join("")}${body}`;
}

function fieldSource(
  { name, code, getter, notes }: RelationField & { readonly notes: readonly string[] },
  indent: number,
): string {
  const space = " ".repeat(indent);
  const field = getter
    ? `${space}get ${name}() {\n${space}  return ${print(code, indent + 2, indent + 9)};\n${space}},\n`
    : `${space}${name}: ${print(code, indent, indent + name.length + 2)},\n`;
  return `${notes.map(comment(space)).join("")}${field}`;
}

/** A comment line. The text must not end the line: the rest would be code. */
function comment(indent: string): (note: string) => string {
  return (note) => `${indent}// ${legible(note)}\n`;
}

/** The values of an enum that several columns use are written once, as a constant. */
function enumSources(
  enums: SchemaState["enums"],
  tables: Readonly<Record<string, TableState>>,
  taken: Set<string>,
  typed: boolean,
): { enums: EnumSources; constants: string[]; notes: string[] } {
  const types = Object.values(tables).flatMap(({ columns }) => Object.values(columns).map(({ type }) => type));
  const uses = (type: string): number => types.filter((each) => each.replace(/(\[\])+$/, "") === type).length;
  const constants: string[] = [];
  const notes: string[] = [];
  const writable = writableEnums(enums);
  for (const name of Object.keys(enums)) {
    if (uses(typeName(name)) > 0 && !writable.some(([, each]) => each === name))
      notes.push(`Migrations do not create the enum ${shown(name)}: a model cannot name it.`);
  }
  const sources = writable.map(([type, name, values]) => {
    if (uses(type) === 0) notes.push(`The enum ${shown(name)} is used by no table.`);
    if (uses(type) < 2) return [type, { name, values, code: valuesCode(values) }] as const;
    const constant = valuesName(name, taken);
    taken.add(constant);
    const opening = `export const ${constant} = `;
    constants.push(`${opening}${print(valuesCode(values), 0, opening.length)}${typed ? " as const" : ""};\n`);
    return [type, { name, values, code: constant }] as const;
  });
  return { enums: new Map(sources), constants, notes };
}
