import { ValueError } from "../../kit/value-error.js";

/** Names of members that every instance or model class has, and names with a meaning in JavaScript, such as `then`. */
const reserved = new Set(
  "constructor prototype pk save delete hardDelete restore refresh related toJSON then catch finally meta objects".split(
    " ",
  ),
);

/** Double underscores separate the parts of a lookup, so a name must not contain them. */
export function checkFieldName(table: string, name: string): void {
  if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name) || name.includes("__") || name.endsWith("_")) {
    throw new ValueError(
      `${table}: ${JSON.stringify(name)} cannot be the name of a field: it takes letters, digits and single underscores`,
    );
  }
  if (reserved.has(name)) throw new ValueError(`${table}: a field cannot be named '${name}'`);
}
