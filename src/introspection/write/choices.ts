import { quote } from "../../orm/identifiers.js";

/** The strings that a check allows a text column, when it is one that `field.enum` makes; else undefined. */
export function choicesOf(check: string, column: string): string[] | undefined {
  const [, subject, list, one] = /^(.+?) = (?:ANY \(ARRAY\[(.*)\]\)|('.*'::text))$/s.exec(check) ?? [];
  if (subject !== column && subject !== quote(column)) return undefined;
  const values = literals(list ?? one ?? "");
  const usable = values?.every((value) => value !== "") && new Set(values).size === values.length;
  return usable ? values : undefined;
}

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
