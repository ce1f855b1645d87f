import { capitalized } from "../../kit/names.js";
import { show } from "../../kit/options.js";
import { isRecord } from "../../kit/own-property.js";
import { ValueError } from "../../kit/value-error.js";
import {
  type BodyResult,
  type BodyValidator,
  bodyValidatorSymbol,
  type DescribedSchema,
  jsonSchemaSymbol,
  type NamedJsonSchema,
} from "../../validation/body-validator.js";
import { type Issue, maxIssues } from "../../validation/issues.js";
import type { JsonSchema } from "../../validation/json-schema.js";
import type { ModelMeta, RelationMeta } from "../meta.js";
import { columnCheck } from "./column-check.js";
import { type JsonBody, readJsonBody } from "./json-body.js";
import {
  type BodyField,
  bodyFields,
  invalidJson,
  issuesOf,
  type ModelBodyReader,
  noObject,
  readFields,
  refused,
} from "./model-body.js";
import { modelSchema } from "./model-schema.js";
import type { CheckedNested, NestedBody } from "./nested-body-types.js";
import { Refusal } from "./refusal.js";

/** The largest number of related rows in one body. */
const maxRows = 1000;

/**
 * A body of a model together with these to-many relations: `{ body: nested(Author, "books", "books__tags") }`. Clients
 * cannot send any other relation. `create` takes the result.
 */
export function nested<M extends object, const P extends string>(
  model: { new (...args: never[]): M; readonly meta: ModelMeta },
  ...paths: readonly CheckedNested<M, P>[]
): BodyValidator<NestedBody<M, P>> & DescribedSchema {
  if (typeof model !== "function" || !("meta" in model))
    throw new ValueError(`nested() takes a model's class, not ${show(model)}`);
  if (paths.length === 0) throw new ValueError("nested() takes the names of relations");
  let reader: ModelBodyReader | undefined;
  const allowed = (): Allowed => allowedIn(model.meta, paths as readonly string[]);
  return {
    [bodyValidatorSymbol](bytes, limit) {
      reader ??= compile(allowed());
      return reader(bytes, limit) as BodyResult<NestedBody<M, P>>;
    },
    [jsonSchemaSymbol]: () => nestedSchema(allowed()),
  };
}

function allowedIn(meta: ModelMeta, paths: readonly string[]): Allowed {
  const heads = new Set(paths.map((path) => path.split("__")[0]!));
  const relations = new Map(
    [...heads].map((name) => {
      const relation = meta.relations.get(name);
      const refers = relation?.kind === "foreignKey" || relation?.kind === "oneToOne";
      if (relation === undefined || refers)
        throw new ValueError(`nested(): ${meta.name}.${name} is no relation to rows that refer to it`);
      const rest = paths.filter((path) => path.startsWith(`${name}__`)).map((path) => path.slice(name.length + 2));
      return [name, { relation, rows: allowedIn(relation.target, rest) }];
    }),
  );
  return { meta, relations };
}

/** Reads one row of a level: its columns and its related rows. */
type ReadRow = (body: JsonBody, loc: Issue["loc"], found: Found) => unknown;

interface Found {
  readonly issues: Issue[];
  rows: number;
}

function compile(allowed: Allowed): ModelBodyReader {
  const read = rowReader(allowed, undefined);
  return (bytes, limit = maxIssues) => {
    const body = readJsonBody(bytes, true, limit);
    if (body === undefined) return invalidJson;
    if (!isRecord(body.value)) return refused([noObject(allowed.meta, ["body"])]);
    const found: Found = { issues: [], rows: 0 };
    const value = read(body, [], found) as Record<string, unknown>;
    return found.issues.length > 0 ? refused(found.issues.slice(0, limit)) : { value };
  };
}

/** `back` is the relation that leads to the rows: the foreign key that it goes by is not sent. */
function rowReader({ meta, relations }: Allowed, back: RelationMeta | undefined): ReadRow {
  const keys = back === undefined || back.through ? [] : back.targetColumns;
  const columns = meta.columns.filter((column) => !keys.includes(column));
  const fields: readonly BodyField[] = bodyFields(columns, false);
  const readers = [...relations].map(([name, { relation, rows }]) => {
    const read = relationReader(relation, rowReader(rows, relation));
    return [name, read] as const;
  });
  return (body, loc, found) => {
    // The body is refused, with as many issues as a response may have: nothing more is checked.
    if (found.issues.length >= body.limit) return {};
    const result = readFields(fields, body);
    for (const issue of result.issues ?? []) found.issues.push({ ...issue, loc: [...loc, ...issue.loc] });
    const values: Record<string, unknown> = result.issues === undefined ? result.value : {};
    for (const [name, read] of readers) {
      const { value } = body as { value: Record<string, unknown> };
      if (Object.hasOwn(value, name)) values[name] = read({ ...body, value: value[name] }, [...loc, name], found);
    }
    return values;
  };
}

function relationReader(relation: RelationMeta, read: ReadRow): ReadRow {
  const one = itemReader(relation, read);
  if (relation.single) return (body, loc, found) => (body.value === null ? null : one(body, loc, found));
  return (body, loc, found) => {
    const { value } = body;
    if (!Array.isArray(value)) {
      found.issues.push({ loc, msg: "Input should be a valid list", type: "list_type" });
      return [];
    }
    found.rows += value.length;
    if (found.rows > maxRows) {
      found.issues.push({ loc, msg: `The body should have at most ${maxRows} related rows`, type: "too_long" });
      return [];
    }
    return value.map((item, index) => one({ ...body, value: item }, [...loc, index], found));
  };
}

/** A row of a many-to-many relation may also be an existing one, by its key. */
function itemReader(relation: RelationMeta, read: ReadRow): ReadRow {
  const key = relation.through === undefined ? undefined : columnCheck(relation.targetColumn.type);
  return (body, loc, found) => {
    if (isRecord(body.value)) return read(body, loc, found);
    if (key === undefined || body.value === null || typeof body.value === "object") {
      found.issues.push(noObject(relation.target, loc));
      return null;
    }
    const result = key.check(body.value, body);
    if (result instanceof Refusal) for (const issue of issuesOf(loc, result)) found.issues.push(issue);
    return result;
  };
}

/** The relations that clients may send, by name; each with the relations of its rows. */
interface Allowed {
  readonly meta: ModelMeta;
  readonly relations: ReadonlyMap<string, { readonly relation: RelationMeta; readonly rows: Allowed }>;
}

/** The JSON Schema of a body with related rows. */
function nestedSchema(allowed: Allowed): NamedJsonSchema {
  const names = [...allowed.relations.keys()].map(capitalized);
  return { name: `${allowed.meta.name}With${names.join("And")}`, schema: rowSchema(allowed, undefined) };
}

function rowSchema({ meta, relations }: Allowed, back: RelationMeta | undefined): JsonSchema {
  const { schema } = modelSchema(meta, "input");
  const { properties, required, ...rest } = schema as {
    properties: Record<string, JsonSchema>;
    required?: readonly string[];
  };
  const keys = back === undefined || back.through ? [] : back.targetColumns;
  const hidden = new Set(keys.map((column) => column.attribute));
  const own = Object.entries(properties).filter(([name]) => !hidden.has(name));
  const needed = (required ?? []).filter((name) => !hidden.has(name));
  const nested = [...relations].map(([name, { relation, rows }]) => [name, relationSchema(relation, rows)]);
  return {
    ...rest,
    properties: Object.fromEntries([...own, ...nested]),
    ...(needed.length > 0 ? { required: needed } : {}),
  };
}

function relationSchema(relation: RelationMeta, rows: Allowed): JsonSchema {
  const row = rowSchema(rows, relation);
  if (relation.single) return { anyOf: [row, { type: "null" }] };
  const items = relation.through ? { anyOf: [row, { ...relation.targetColumn.type.json }] } : row;
  return { type: "array", items };
}
