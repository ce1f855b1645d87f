import { ParameterValueError } from "../../engines/db/errors.js";
import { resolvePath, type Scope, shown } from "../compile/scope.js";
import type { ColumnType } from "../meta.js";

/** What a client wrote in a query string, as the field of a lookup needs it. */
export function fromClient(scope: Scope, key: string, value: unknown): unknown {
  if (typeof value !== "string") return value;
  const found = resolvePath(scope, key);
  const lookup = key.split("__").at(-1);
  if (lookup === "isnull") return toBoolean(key, value);
  const type = found.kind === "column" ? found.column.type : undefined;
  if (lookup === "in" || lookup === "range") return value.split(",").map((item) => convert(key, type, item));
  return convert(key, type, value);
}

function convert(key: string, type: ColumnType | undefined, value: string): unknown {
  switch (type?.kind) {
    case "smallInt":
    case "int":
    case "float": {
      const number = Number(value);
      if (value.trim() === "" || !Number.isFinite(number))
        throw new ParameterValueError(`${shown(key)} needs a number`);
      return number;
    }
    case "bigInt":
      if (!/^[+-]?\d{1,20}$/.test(value)) throw new ParameterValueError(`${shown(key)} needs an integer`);
      return BigInt(value);
    case "bool":
      return toBoolean(key, value);
    default:
      return value;
  }
}

function toBoolean(key: string, value: string): boolean {
  if (value === "true" || value === "1") return true;
  if (value === "false" || value === "0") return false;
  throw new ParameterValueError(`${shown(key)} needs true or false`);
}
