import type { ColumnType } from "../meta.js";
import { dateCheck, datetimeCheck, localDatetimeCheck, timeCheck } from "./checks/datetimes.js";
import { intervalCheck } from "./checks/interval.js";
import { bigIntegerCheck, booleanCheck, decimalCheck, floatCheck, integerCheck } from "./checks/numbers.js";
import { bytesCheck, enumCheck, textCheck, uuidCheck } from "./checks/text.js";
import { arrayCheck, customCheck, jsonCheck, notNull } from "./checks/values.js";
import { toDouble, toNumberText, withDoubles } from "./exact-numbers.js";
import { type Check, type ColumnCheck, Refusal } from "./refusal.js";

export function columnCheck(type: ColumnType): ColumnCheck {
  const read = withNumbers(type.kind, checkFor(type));
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

const nothing = { nulls: false, overflow: false, source: null, limit: 1 };

/** Long numbers are doubles for a check that has no use for their digits: each when it is checked, as most may not be. */
function withNumbers(kind: ColumnType["kind"], check: Check): Check {
  if (kind === "array") return check;
  const isExactKind = kind === "bigInt" || kind === "decimal";
  const convert = isExactKind ? toNumberText : kind === "json" || kind === "custom" ? withDoubles : toDouble;
  return (value, body) => check(body.source === null ? value : convert(value, body.source), body);
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
      return arrayCheck(item, type.item!.kind === "array");
    }
    case "custom":
      return customCheck(type.encode);
  }
}

function isExact(type: ColumnType): boolean {
  return type.kind === "bigInt" || type.kind === "decimal" || (type.item !== undefined && isExact(type.item));
}
