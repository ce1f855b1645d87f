import type { ColumnType } from "../meta.js";
import { dateCheck, datetimeCheck, localDatetimeCheck, timeCheck } from "./checks/datetimes.js";
import { intervalCheck } from "./checks/interval.js";
import { bigIntegerCheck, booleanCheck, decimalCheck, floatCheck, integerCheck } from "./checks/numbers.js";
import { bytesCheck, enumCheck, textCheck, uuidCheck } from "./checks/text.js";
import { arrayCheck, customCheck, jsonCheck, notNull } from "./checks/values.js";
import { toDouble, withDoubles } from "./exact-numbers.js";
import { type Check, Refusal } from "./refusal.js";

/** The check of a column's values in JSON. */
export interface ColumnCheck {
  readonly check: Check;
  /** The refusal of null, for columns that do not allow it. */
  readonly onNull: Refusal;
  /** True if the check needs long numbers as they were written. */
  readonly exact: boolean;
}

export function columnCheck(type: ColumnType): ColumnCheck {
  const read = rounded(type.kind, checkFor(type));
  const { rule } = type;
  const check: Check =
    rule === undefined
      ? read
      : (value, body) => {
          const result = read(value, body);
          return result instanceof Refusal ? result : (rule(result) ?? result);
        };
  const onNull = type.kind === "json" || type.kind === "custom" ? notNull : read(null, nothing);
  return { check, onNull: onNull as Refusal, exact: isExact(type) };
}

const nothing = { nulls: false, overflow: false, exact: false, limit: 1 };

/** Long numbers are doubles for a check that has no use for their digits: each when it is checked, as most may not be. */
function rounded(kind: ColumnType["kind"], check: Check): Check {
  if (kind === "array" || kind === "bigInt" || kind === "decimal") return check;
  const convert = kind === "json" || kind === "custom" ? withDoubles : toDouble;
  return (value, body) => check(body.exact ? convert(value) : value, body);
}

function checkFor(type: ColumnType): Check {
  switch (type.kind) {
    case "smallInt":
    case "int":
      return integerCheck(type.range!);
    case "bigInt":
      return bigIntegerCheck(type.range!);
    case "float":
      return floatCheck(type.sqlType === "real");
    case "decimal":
      return decimalCheck(type.precision, type.scale);
    case "bool":
      return booleanCheck;
    case "char":
    case "text":
    case "searchVector":
      return textCheck(type.maxLength);
    case "uuid":
      return uuidCheck;
    case "json":
      return jsonCheck;
    case "datetime":
      return type.timezone === false ? localDatetimeCheck : datetimeCheck;
    case "date":
      return dateCheck;
    case "time":
      return timeCheck(type.timezone === true);
    case "interval":
      return intervalCheck;
    case "bytes":
      return bytesCheck;
    case "enum":
      return enumCheck(type.choices!);
    case "array": {
      const item = columnCheck(type.item!);
      return arrayCheck(item.check, item.onNull, type.item!.kind === "array");
    }
    case "custom":
      return customCheck(type.encode);
  }
}

function isExact(type: ColumnType): boolean {
  return type.kind === "bigInt" || type.kind === "decimal" || (type.item !== undefined && isExact(type.item));
}
