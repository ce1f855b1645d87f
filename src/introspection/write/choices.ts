import { quote } from "../../orm/identifiers.js";

/** The strings that a check allows a text column, when it is one that `field.enum` makes; else undefined. */
export function choicesOf(check: string, column: string): string[] | undefined {
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
