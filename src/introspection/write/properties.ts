import { keyAttribute } from "../../orm/model/columns.js";
import { camelWords, pascalCase, pluralWords, singularWords, wordsOf } from "../../orm/model/words.js";
import { splitName } from "../../orm/schema/names.js";
import { type CompositeKey, compositeNames } from "./composite-keys.js";
import type { Draft } from "./draft.js";
import type { ForeignKeys, ToOne } from "./foreign-keys.js";
import { FieldNames } from "./naming.js";

/** The fields of a model: those of its columns, by column, and the names that are taken. */
export interface Properties {
  readonly names: FieldNames;
  readonly columns: ReadonlyMap<string, string>;
  /** The field of a foreign key. */
  nameOf(relation: ToOne | CompositeKey): string;
}

export function propertiesOf(draft: Draft, { toOne, composite }: ForeignKeys): Properties {
  const names = new FieldNames();
  const columns = new Map<string, string>();
  // Plain columns first: a relation can be called in more than one way.
  for (const column of draft.columns.keys()) {
    if (!toOne.has(column)) columns.set(column, names.take([camelWords(wordsOf(column))]));
  }
  for (const column of toOne.keys()) {
    const stem = camelWords(withoutId(wordsOf(column)));
    columns.set(
      column,
      names.take([stem, `${stem}Ref`], (name) => [keyAttribute(name)]),
    );
  }
  const compositeNamesOf = new Map(composite.map((key) => [key, names.take(compositeNames(key))]));
  const nameOf = (relation: ToOne | CompositeKey): string =>
    "column" in relation ? columns.get(relation.column)! : compositeNamesOf.get(relation)!;
  return { names, columns, nameOf };
}

function withoutId(words: readonly string[]): readonly string[] {
  return words.length > 1 && words.at(-1) === "id" ? words.slice(0, -1) : words;
}

/** The names for the way back of a relation `via` of a table, the best first. */
export function wayBackNames(table: string, via: string, one: boolean, ambiguous: boolean): string[] {
  const words = wordsOf(splitName(table).name);
  const base = camelWords(one ? singularWords(words) : pluralWords(words));
  const precise = `${base}By${pascalCase([via])}`;
  return ambiguous ? [precise] : [base, precise];
}

/** The plural name for the rows of a table. */
export function pluralName(table: string): string {
  return camelWords(pluralWords(wordsOf(splitName(table).name)));
}
