import { quote } from "../../orm/identifiers.js";
import { splitName, usualCheckName } from "../../orm/schema/names.js";
import type { ColumnState, TableState } from "../../orm/schema/state.js";
import type { UnmanagedTable } from "../introspect.js";
import { legible, shown } from "../names.js";
import { type EnumSources, enumSource, isIdentifier, type TypeSource, typeSource, valuesCode } from "./column-type.js";

/** The parts of a model that depend on its own table alone. */
export interface Draft {
  /** As in the state: `shop.lines`. */
  readonly table: string;
  readonly state: TableState;
  readonly columns: ReadonlyMap<string, DraftColumn>;
  /** The columns of the primary key, or those that are treated as one. */
  readonly key: readonly string[];
  /** False: a view, or a table without a primary key. */
  readonly managed: boolean;
  readonly kind: UnmanagedTable["kind"] | undefined;
  /** Notes for the reader, each a line of a comment. */
  readonly notes: readonly string[];
  /** The names of constraints and indexes that fields already express. */
  readonly spoken: Set<string>;
}

export interface DraftColumn {
  readonly state: ColumnState;
  readonly source: TypeSource;
  /** Numbered by the database, as `field.auto` has it. */
  readonly auto: "auto" | "bigAuto" | undefined;
  readonly notes: readonly string[];
}

/** Undefined, with the reason, for a table that cannot be a model. */
export function draftOf(
  table: string,
  state: TableState | UnmanagedTable,
  enums: EnumSources,
  typed: boolean,
): Draft | string {
  if (!isIdentifier(splitName(table).name))
    return `${shown(table)} cannot be a model: its name has a character that cannot be seen`;
  const spoken = new Set<string>();
  const columns = new Map<string, DraftColumn>();
  const notes: string[] = [];
  for (const [column, given] of Object.entries(state.columns)) {
    const drafted = isIdentifier(column) ? draftColumn(table, state, column, given, enums, typed, spoken) : undefined;
    if (drafted) columns.set(column, drafted);
    else notes.push(`The column ${shown(column)} of type ${legible(given.type)} is left out: a model cannot name it.`);
  }
  const { key, why } = keyOf(state, columns);
  if (key === undefined) return `${shown(table)} cannot be a model: it has no column that a model can name`;
  return {
    table,
    state,
    columns,
    key,
    managed: why === undefined,
    kind: "kind" in state ? state.kind : undefined,
    notes: [...(why ? [why] : []), ...notes],
    spoken,
  };
}

function draftColumn(
  table: string,
  { checks = {} }: TableState,
  name: string,
  state: ColumnState,
  enums: EnumSources,
  typed: boolean,
  spoken: Set<string>,
): DraftColumn | undefined {
  const check = usualCheckName(table, name, "choices");
  const choices =
    state.type === "text" && state.collation === undefined && Object.hasOwn(checks, check)
      ? choicesOf(checks[check]!, name)
      : undefined;
  if (choices) spoken.add(check);
  const source = choices ? enumSource(choices, valuesCode(choices)) : typeSource(state.type, enums, typed);
  if (source === undefined) return undefined;
  const auto = state.identity ? autoMakers.get(state.type) : undefined;
  const notes: string[] = [];
  if (state.identity && auto === undefined)
    notes.push(
      `Numbered by the database, which a model can say of integer and bigint only, not of ${legible(state.type)}.`,
    );
  if (state.collation !== undefined && source.maker !== "text" && source.maker !== "char")
    notes.push(`Its collation is ${shown(state.collation)}, which a model can say of text only.`);
  return { state, source, auto, notes };
}

const autoMakers = new Map([
  ["integer", "auto"],
  ["bigint", "bigAuto"],
] as const) as ReadonlyMap<string, "auto" | "bigAuto">;

/** A model needs a key. If the database has none, a likely one is chosen, and the model is not managed. */
function keyOf(
  state: TableState | UnmanagedTable,
  columns: ReadonlyMap<string, DraftColumn>,
): { key: readonly string[] | undefined; why?: string } {
  const isWritten = (names: readonly string[] | undefined): boolean =>
    names?.every((name) => columns.has(name)) ?? false;
  if (state.primaryKey !== undefined && isWritten(state.primaryKey)) return { key: state.primaryKey };
  const isWhole = (names: readonly string[]): boolean =>
    isWritten(names) && names.every((name) => !columns.get(name)!.state.nullable);
  const unique = Object.values(state.unique ?? {}).find((each) => isWhole(each.columns))?.columns;
  const [first] = columns.keys();
  const likely = unique ?? (columns.has("id") ? ["id"] : first === undefined ? undefined : [first]);
  const kind = "kind" in state ? `A ${state.kind}` : "A table without a primary key that a model can name";
  const why = `${kind}: migrations leave it alone. Check that ${(likely ?? []).map(shown).join(", ")} tells its rows apart.`;
  return { key: likely, why };
}

/** The strings that a check allows a text column, when it is one that `field.enum` makes; else undefined. */
function choicesOf(check: string, column: string): string[] | undefined {
  const subject = [column, quote(column)].find((each) => check.startsWith(`${each} = `));
  if (subject === undefined) return undefined;
  const allowed = check.slice(subject.length + 3);
  const isList = allowed.startsWith(listStart) && allowed.endsWith("])");
  const values = literals(isList ? allowed.slice(listStart.length, -2) : allowed);
  const usable = values?.every((value) => value !== "") && new Set(values).size === values.length;
  return usable ? values : undefined;
}

const listStart = "ANY (ARRAY[";

/** Backslashes depend on a setting of the server. */
function literals(list: string): string[] | undefined {
  const item = /'((?:[^'\\]|'')*)'::text(?:, |$)/y;
  const values: string[] = [];
  while (item.lastIndex < list.length) {
    const match = item.exec(list);
    if (match === null) return undefined;
    values.push(match[1]!.replaceAll("''", "'"));
  }
  return values.length === 0 ? undefined : values;
}
