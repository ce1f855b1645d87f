/** Names for classes and fields. They are always plain identifiers, for any name in the database. */

import { didYouMean } from "../../kit/suggest.js";
import { ValueError } from "../../kit/value-error.js";
import { checkFieldName } from "../../orm/model/field-names.js";
import { camelWords, pascalCase, singularWords, wordsOf } from "../../orm/model/words.js";
import { splitName } from "../../orm/schema/names.js";
import { shown } from "../names.js";

/**
 * Names that no class gets: globals and imports that it would hide in the written module, and words that the language
 * reserves.
 */
const takenByLanguage = new Set([
  ...Object.getOwnPropertyNames(globalThis),
  ..."Model field Json any boolean never number object string symbol undefined unknown bigint".split(" "),
  ..."abstract arguments as async await break case catch class const continue debugger declare default delete do else".split(
    " ",
  ),
  ..."enum eval export extends false finally for from function get if implements import in instanceof interface let".split(
    " ",
  ),
  ..."module namespace new null of package private protected public require return set static super switch this".split(
    " ",
  ),
  ..."throw true try type typeof using var void while with yield".split(" "),
]);

/** The class name of each table, by table name. `given` holds the names that the caller chose. */
export function classNames(tables: readonly string[], given: Readonly<Record<string, string>>): Map<string, string> {
  const chosen = new Map(Object.entries(given));
  const taken = new Set(takenByLanguage);
  const names = new Map<string, string>();
  for (const [table, name] of chosen) {
    if (!tables.includes(table))
      throw new ValueError(
        `option 'names' in writeModels names the table ${shown(table)}, which is not there${didYouMean(table, tables)}`,
      );
    if (!/^[A-Za-z_$][\w$]*$/.test(name) || taken.has(name))
      throw new ValueError(
        `option 'names' in writeModels: ${shown(name)} cannot be the name of a class, or is taken already`,
      );
    taken.add(name);
    names.set(table, name);
  }
  for (const table of tables) {
    if (names.has(table)) continue;
    const name = freeClassName(table, taken);
    taken.add(name);
    names.set(table, name);
  }
  return names;
}

function freeClassName(table: string, taken: ReadonlySet<string>): string {
  const { schema, name } = splitName(table);
  const base = startingWithLetter(pascalCase(singularWords(wordsOf(name))), "Table");
  const withSchema = schema === undefined ? [] : [`${pascalCase(wordsOf(schema))}${base}`];
  const candidates = [base, ...withSchema.filter((each) => /^[A-Z]/.test(each)), `${base}Model`];
  return firstFree(candidates, (candidate) => !taken.has(candidate));
}

/** The name of an enum's list of values. */
export function valuesName(type: string, taken: ReadonlySet<string>): string {
  const base = startingWithLetter(camelWords(wordsOf(splitName(type).name)), "enum");
  return firstFree([`${base}Values`], (candidate) => !taken.has(candidate) && !takenByLanguage.has(candidate));
}

/** The names in use in one model: of fields, and of the properties that hold the keys of relations. */
export class FieldNames {
  readonly #taken = new Set<string>();

  /** The first of the candidates that is free, else one with a number; `extra` returns other names that must be free too. */
  take(candidates: readonly string[], extra: (name: string) => readonly string[] = () => []): string {
    const usable = candidates.map((each) => startingWithLetter(each, "field").slice(0, longest)).map(notReserved);
    const isFree = (name: string): boolean =>
      [name, ...extra(name)].every((each) => isFieldName(each) && !this.#taken.has(each));
    const name = firstFree(usable, isFree);
    for (const each of [name, ...extra(name)]) this.#taken.add(each);
    return name;
  }
}

/** Leaves room for a number within PostgreSQL's 63 bytes that a name may have. */
const longest = 56;

function notReserved(name: string): string {
  return isFieldName(name) ? name : `${name}Field`;
}

function isFieldName(name: string): boolean {
  if (name in Object.prototype) return false;
  try {
    checkFieldName("", name);
    return true;
  } catch {
    return false;
  }
}

function firstFree(candidates: readonly string[], isFree: (candidate: string) => boolean): string {
  const found = candidates.find(isFree);
  if (found !== undefined) return found;
  for (let number = 2; ; number++) {
    const numbered = `${candidates[0]}${number}`;
    if (isFree(numbered)) return numbered;
  }
}

function startingWithLetter(name: string, prefix: string): string {
  return /^[A-Za-z]/.test(name) ? name : `${prefix}${name}`;
}
