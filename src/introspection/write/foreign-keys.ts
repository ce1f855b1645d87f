import { usualForeignKeyName, usualUniqueName } from "../../orm/schema/names.js";
import type { ForeignKeyState } from "../../orm/schema/state.js";
import { describeForeignKey } from "../describe.js";
import { shown } from "../names.js";
import { type CompositeKey, compositeKeyOf, reasonAgainstComposite } from "./composite-keys.js";
import { defaultValueCode } from "./defaults.js";
import type { Draft } from "./draft.js";

/** A foreign key that a field can express. */
export interface ToOne {
  readonly column: string;
  readonly target: Draft;
  /** The column referred to. */
  readonly to: string;
  /** True if the column is unique: one-to-one. */
  readonly one: boolean;
  readonly key: ForeignKeyState;
  /** The name of the constraint, if it is not the usual one. */
  readonly name: string | undefined;
}

export interface ForeignKeys {
  /** By column. */
  readonly toOne: ReadonlyMap<string, ToOne>;
  readonly composite: readonly CompositeKey[];
  /** Notes about foreign keys that no field can express. */
  readonly notes: readonly string[];
}

export function foreignKeysOf(draft: Draft, drafts: ReadonlyMap<string, Draft>): ForeignKeys {
  const toOne = new Map<string, ToOne>();
  const composite: CompositeKey[] = [];
  const notes: string[] = [];
  const leaveOut = (name: string, key: ForeignKeyState, reason: string): void => {
    notes.push(`The foreign key ${shown(name)} ${describeForeignKey(key)} is left out: ${reason}.`);
  };
  for (const [name, key] of Object.entries(draft.state.foreignKeys ?? {})) {
    const [column = ""] = key.columns;
    const target = drafts.get(key.table);
    if (key.columns.length > 1) {
      const isRepeated = composite.some((other) => other.key.columns.join("\0") === key.columns.join("\0"));
      const reason = isRepeated ? "the columns have another one" : reasonAgainstComposite(draft, key, target);
      if (reason === undefined) composite.push(compositeKeyOf(draft, name, key, target!));
      else leaveOut(name, key, reason);
      continue;
    }
    const reason = toOne.has(column) ? "the column has another one" : reasonAgainst(draft, key, target);
    if (reason === undefined) toOne.set(column, toOneOf(draft, name, key, target!));
    else leaveOut(name, key, reason);
  }
  return { toOne, composite, notes };
}

/** The reason why no field can express the foreign key with the same column. */
function reasonAgainst(draft: Draft, key: ForeignKeyState, target: Draft | undefined): string | undefined {
  if (target === undefined) return "there is no model of its table";
  const column = draft.columns.get(key.columns[0]!);
  const other = target.columns.get(key.references[0]!);
  if (column === undefined || other === undefined) return "a model cannot name its columns";
  const { state, source } = column;
  if (state.type !== other.state.type) return `${state.type} refers to ${other.state.type}`;
  if (state.identity || state.generated !== undefined || state.collation !== undefined)
    return "its column is an identity, generated or has a collation";
  if (state.default !== undefined && defaultValueCode(state, source) === undefined)
    return "its column has a default that is no plain value";
  return key.onDelete === "set null" && !state.nullable ? "it sets a column to null that cannot be" : undefined;
}

function toOneOf(draft: Draft, name: string, key: ForeignKeyState, target: Draft): ToOne {
  const column = key.columns[0]!;
  const uniqueName = usualUniqueName(draft.table, [column]);
  const unique = new Map(Object.entries(draft.state.unique ?? {})).get(uniqueName);
  const isUnique = unique?.columns.join() === column && unique.columns.length === 1 && !unique.nullsNotDistinct;
  if (isUnique) draft.spoken.add(uniqueName);
  const isKey = draft.key.length === 1 && draft.key[0] === column;
  const usual = name === usualForeignKeyName(draft.table, [column]);
  return {
    column,
    target,
    to: key.references[0]!,
    one: isUnique || isKey,
    key,
    name: usual ? undefined : name,
  };
}
