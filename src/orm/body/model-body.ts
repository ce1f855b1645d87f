import { isRecord } from "../../kit/own-property.js";
import type { BodyResult } from "../../validation/body-validator.js";
import { type Issue, maxIssues } from "../../validation/issues.js";
import type { ColumnMeta, ModelMeta } from "../meta.js";
import { columnCheck } from "./column-check.js";
import { type JsonBody, readJsonBody } from "./json-body.js";
import { type ColumnCheck, Refusal } from "./refusal.js";

/**
 * Reads a body of a model. The result is the values of the columns by property name, or the issues in the order of the
 * fields, up to `limit`.
 */
export type ModelBodyReader = (bytes: Uint8Array, limit?: number) => BodyResult<Record<string, unknown>>;

const readers = {
  whole: new WeakMap<ModelMeta, ModelBodyReader>(),
  partial: new WeakMap<ModelMeta, ModelBodyReader>(),
};

/** The reader of a model's bodies; it is compiled on first use. A partial body may omit any field. */
export function modelBodyReader(meta: ModelMeta, kind: "whole" | "partial"): ModelBodyReader {
  let reader = readers[kind].get(meta);
  if (reader === undefined) readers[kind].set(meta, (reader = compile(meta, kind === "partial")));
  return reader;
}

/**
 * True if clients may send a column. They cannot send read-only columns, nor values that the clock or the database
 * sets.
 */
export function isWritable({ autoIncrement, readOnly, generated, autoNow, autoNowAdd }: ColumnMeta): boolean {
  return !autoIncrement && !readOnly && generated === undefined && !autoNow && !autoNowAdd;
}

export interface BodyField extends ColumnCheck {
  /** The keys that may hold the value; the first key in the body is used. */
  readonly keys: readonly string[];
  readonly attribute: string;
  readonly nullable: boolean;
  readonly missing: Issue | null;
}

export const invalidJson = refused([{ loc: ["body"], msg: "Invalid JSON body", type: "value_error.json" }]);

function compile(meta: ModelMeta, partial: boolean): ModelBodyReader {
  const fields = bodyFields(meta.columns, partial);
  const exactly = fields.some((field) => field.exact);
  const notObject = refused([noObject(meta, ["body"])]);
  return (bytes, limit = maxIssues) => {
    const body = readJsonBody(bytes, exactly, limit);
    if (body === undefined) return invalidJson;
    return isRecord(body.value) ? readFields(fields, body) : notObject;
  };
}

export function bodyFields(columns: readonly ColumnMeta[], partial: boolean): readonly BodyField[] {
  return columns.filter(isWritable).map((column) => bodyField(column, partial));
}

export function noObject(meta: ModelMeta, loc: Issue["loc"]): Issue {
  return { loc, msg: `Input should be a valid dictionary or instance of ${meta.name}`, type: "model_type" };
}

function bodyField(column: ColumnMeta, partial: boolean): BodyField {
  const { name, attribute, nullable } = column;
  return {
    ...columnCheck(column.type),
    keys: column.reference === undefined ? [name] : [...new Set([name, attribute, column.column])],
    attribute,
    nullable,
    missing: partial || column.optional ? null : { loc: [name], msg: "Field required", type: "missing" },
  };
}

export function readFields(fields: readonly BodyField[], body: JsonBody): BodyResult<Record<string, unknown>> {
  const { value } = body as { value: Record<string, unknown> };
  const values: Record<string, unknown> = {};
  let issues: Issue[] | undefined;
  for (const field of fields) {
    if (issues && issues.length >= body.limit) break;
    const key = sentKey(field, value);
    if (key === undefined) {
      if (field.missing) (issues ??= []).push(field.missing);
      continue;
    }
    const given = value[key];
    const result = given === null ? (field.nullable ? null : field.onNull) : field.check(given, body);
    if (result instanceof Refusal) issues = [...(issues ?? []), ...issuesOf([key], result)];
    else values[field.attribute] = result;
  }
  return issues ? refused(issues.slice(0, body.limit)) : { value: values };
}

function sentKey({ keys }: BodyField, body: Record<string, unknown>): string | undefined {
  for (const key of keys) if (Object.hasOwn(body, key)) return key;
  return undefined;
}

export function issuesOf(loc: readonly (string | number)[], { type, msg, items }: Refusal): Issue[] {
  if (items === undefined) return [{ loc, msg, type }];
  return [...items].flatMap(([index, item]) => issuesOf([...loc, index], item));
}

export function refused(issues: readonly Issue[]): BodyResult<never> {
  return { issues, status: 400 };
}
