import { redacted } from "../../../logging/secrets.js";
import type { StatementInfo } from "../statements.js";
import { oid } from "../values/oids.js";
import { type ParameterColumns, parameterColumns } from "./parameter-columns.js";

const longestText = 200;
const mostItems = 20;
const hiddenJson = "<json>";

const columns = new WeakMap<StatementInfo, ParameterColumns>();

/** The parameters of a statement as a log may show them. Values of secret columns and JSON, which may hold any, are hidden. */
export function shownParameters(info: StatementInfo, params: readonly unknown[]): unknown[] {
  let known = columns.get(info);
  if (known === undefined) columns.set(info, (known = parameterColumns(info.text)));
  const { isOpen } = known;
  return params.map((value, index) => {
    if (!isOpen(index)) return redacted;
    const type = info.parameterTypes?.[index];
    return type === oid.json || type === oid.jsonb ? hiddenJson : shown(value, true);
  });
}

/** True if the log shows all values, so that a plan for them may be shown too. */
export function areAllShown(info: StatementInfo, params: readonly unknown[]): boolean {
  return !shownParameters(info, params).some((value) => value === redacted || value === hiddenJson);
}

function shown(value: unknown, nested: boolean): unknown {
  if (value === null || typeof value === "number" || typeof value === "boolean") return value;
  if (typeof value === "bigint") return String(value);
  if (typeof value === "string") return value.length > longestText ? `${value.slice(0, longestText)}…` : value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "<invalid date>" : value.toISOString();
  if (value instanceof Uint8Array) return `<${value.length} bytes>`;
  if (!Array.isArray(value)) return `<${typeof value}>`;
  if (!nested || value.length > mostItems) return `<${value.length} values>`;
  return value.map((item) => shown(item, false));
}
