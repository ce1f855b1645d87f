import { jsonResponse, type Response } from "../../http/response.js";
import { toResponseSymbol } from "../../http/to-response.js";
import { compileJson } from "../compile/statement-cache.js";
import type { ModelMeta } from "../meta.js";
import type { PrefetchNode, Query, RelatedTree } from "../nodes.js";
import { JsonRows } from "./json-rows.js";
import { load } from "./load.js";
import { send } from "./send.js";
import { stateOf, type Values } from "./state.js";

/** The JSON of a query, made without building instances. A handler can return it. */
export class JsonText {
  constructor(readonly text: string) {}

  /** Parses the JSON. */
  value(): unknown {
    return JSON.parse(this.text);
  }

  /** Allows the JSON to be part of other JSON. */
  toJSON(): unknown {
    return this.value();
  }

  toString(): string {
    return this.text;
  }

  [toResponseSymbol](): Response {
    return jsonResponse(this.text, 200);
  }
}

/** The rows as JSON. Instances are built only if a class has its own `toJSON`, or for a union. */
export async function queryJson(query: Query): Promise<JsonText> {
  if (query.empty) return new JsonText("[]");
  if (query.combined || hasOwnJson(query)) {
    const rows = await load(query);
    return new JsonText(JSON.stringify(query.selection ? rows.map(jsonValue) : rows));
  }
  const { text, params, plan } = compileJson(query);
  const rows = new JsonRows(plan);
  await send(query, (connection) => connection.fetchInto(rows, text, params));
  return new JsonText(rows.text());
}

const standard = new WeakSet<object>();

/** Registers the `toJSON` that all models have. For models with this one, JSON can be written without instances. */
export function standardJson(method: () => unknown): void {
  standard.add(method);
}

function hasOwnJson(query: Query): boolean {
  if (query.selection) return false;
  return (
    differs(query.meta) ||
    inTree(query.meta, query.related) ||
    query.prefetch.some((node) => inPrefetch(query.meta, node))
  );
}

function differs(meta: ModelMeta): boolean {
  return !standard.has((meta.model.prototype as { toJSON: () => unknown }).toJSON);
}

function inTree(meta: ModelMeta, tree: RelatedTree): boolean {
  return Object.keys(tree).some((name) => {
    const { target } = meta.relations.get(name)!;
    return differs(target) || inTree(target, tree[name]!.related);
  });
}

function inPrefetch(meta: ModelMeta, node: PrefetchNode): boolean {
  const { target } = meta.relations.get(node.relation)!;
  return (
    differs(target) ||
    (node.query !== undefined && hasOwnJson(node.query)) ||
    node.nested.some((each) => inPrefetch(target, each))
  );
}

interface JsonPlan {
  readonly names: readonly string[];
  readonly writers: readonly (((value: unknown) => unknown) | undefined)[];
}

const plans = new WeakMap<ModelMeta, JsonPlan>();

function planOf(meta: ModelMeta): JsonPlan {
  let plan = plans.get(meta);
  if (plan === undefined) {
    const columns = meta.columns.filter((column) => !column.hidden);
    plan = { names: columns.map((column) => column.attribute), writers: columns.map((column) => column.type.toJson) };
    plans.set(meta, plan);
  }
  return plan;
}

/** An instance as JSON.stringify sees it: columns, annotations, and relations that were loaded with the query. */
export function instanceJson(instance: object, meta: ModelMeta): Values {
  const values = instance as Values;
  const json: Values = {};
  const { names, writers } = planOf(meta);
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!;
    const value = values[name];
    const write = writers[i];
    if (value !== undefined) json[name] = write === undefined || value === null ? value : write(value);
  }
  const { extras, shown, related } = stateOf(instance);
  for (const name of extras) json[name] = jsonValue(values[name]);
  for (const name of shown) json[name] = related?.get(name);
  return json;
}

/** The JSON of a value that has no column. */
function jsonValue(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (Array.isArray(value)) return value.map(jsonValue);
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, jsonValue(item)]));
}
