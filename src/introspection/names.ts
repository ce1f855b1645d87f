import { ValueError } from "../kit/value-error.js";
import { joinName } from "../orm/schema/names.js";

/** A table or a type of the catalogs. */
export interface CatalogEntry {
  readonly schema: string;
  readonly name: string;
  /** True if the search path leads to it. */
  readonly visible: boolean;
}

/** True if the name contains a dot: it would be read as the name of a table in another schema. */
export function hasDot({ schema, name, visible }: CatalogEntry): boolean {
  return name.includes(".") || (!visible && schema.includes("."));
}

/** The name that a table or a type has in a state. */
export function catalogName(entry: CatalogEntry): string {
  const { schema, name, visible } = entry;
  if (hasDot(entry)) {
    throw new ValueError(
      `${shown(name)} of the schema ${shown(schema)} has a dot in its name and would be taken for one of another schema: leave it out with 'exclude'`,
    );
  }
  return joinName(visible ? undefined : schema, name);
}

/** A name for a message. It comes from the database: a name with unusual characters is quoted and escaped. */
export function shown(name: string): string {
  return /^[\p{L}\p{N}_.$-]+$/u.test(name) ? name : escaped(name);
}

/** A JavaScript string literal without line ends and invisible characters. */
export function escaped(text: string): string {
  const double = JSON.stringify(text).replace(invisible, unicodeEscape);
  // Names in SQL have double quotes: easier to read between single ones.
  return text.includes('"') && !text.includes("'") ? `'${double.slice(1, -1).replaceAll('\\"', '"')}'` : double;
}

/** SQL as a message shows it: on one line. */
export function legible(sql: string): string {
  return sql.replace(invisible, unicodeEscape);
}

const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

function unicodeEscape(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}
